import Synchronization

/// An executor on which nothing happens until `run()` is called, and then all of it on the calling
/// thread, in the order in which it was asked for.
///
/// Actors that share one are a deterministic simulation: the same calls make the same schedule. It
/// is a task executor too, because a task's code outside of any actor would otherwise run on the
/// global pool: start tasks with `Task(executorPreference: executor)`.
package final class ManualExecutor: SerialExecutor, TaskExecutor {
  private let jobs = Mutex<[UnownedJob]>([])

  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(self) }

  package func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(self) }

  /// Runs what is queued, and what that queues, until nothing is left. Not to be called by a job.
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
