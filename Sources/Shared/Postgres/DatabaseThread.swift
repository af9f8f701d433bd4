import Dispatch

/// An executor for an actor that uses a `PostgresConnection`, whose calls block. Runs the jobs of
/// the actor one after the other, outside the thread pool that all other tasks share.
package final class DatabaseThread: SerialExecutor {
  private let queue: DispatchQueue

  package init(label: String) { queue = DispatchQueue(label: label) }

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}
