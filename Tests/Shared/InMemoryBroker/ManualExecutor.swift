import Synchronization

/// An executor that runs jobs only in `run()`, on the calling thread, in the order in which they
/// were enqueued.
///
/// Actors that share one form a deterministic simulation: the same calls lead to the same schedule.
/// It is also a task executor, because the code of a task outside of any actor would otherwise run
/// on the global pool: start tasks with `Task(executorPreference: executor)`.
package final class ManualExecutor: SerialExecutor, TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(self) }

  package func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(self) }

  /// Runs the queued jobs, and the jobs that they enqueue, until none is left. Must not be called
  /// by a job.
  package func run() {
    while true {
      let batch = jobs.withLock { jobs in
        defer { jobs.removeAll() }
        return jobs
      }
      if batch.isEmpty { return }
      for job in batch {
        job.runSynchronously(
          isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
      }
    }
  }
}
