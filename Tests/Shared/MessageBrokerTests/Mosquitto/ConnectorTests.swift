import Dispatch
import Foundation
import MessageBroker
import Testing

@testable import MosquittoBroker

@Suite struct ConnectorTests {
  @Test(.timeLimit(.minutes(5))) func whoGivesUpTriesNoFurtherAddress() async {
    let addresses = ["a", "b", "c"].map { BrokerAddress(host: $0, port: 1) }
    let isGivenUp = DispatchSemaphore(value: 0)
    let (attempts, attempt) = AsyncStream.makeStream(of: String.self)
    let connector = Connector(addresses) { (address) throws(BrokerError) -> Connection in
      attempt.yield(address.host)
      isGivenUp.wait()
      throw BrokerError.unreachable(address.host)
    } done: {
      attempt.finish()
    }
    var tried: [String] = []
    for await host in attempts {
      tried.append(host)
      connector.abandon()
      isGivenUp.signal()
    }
    #expect(tried == ["a"])
  }

  /// Runs in a process of its own, because the limits hold for all of its threads.
  @Test func withoutThreadsOrDescriptorsAnErrorIsThrown() async {
    await #expect(processExitsWith: .success) {
      func limiting(_ resource: Limit.Resource, _ body: () throws -> Void) rethrows {
        let before = Limit.set(resource, to: 0)
        defer { Limit.set(resource, to: before) }
        try body()
      }
      for resource in [Limit.files, Limit.memory] {
        limiting(resource) {
          #expect(throws: BrokerError.self) { _ = try MosquittoClient(.init(host: "127.0.0.1")) }
        }
      }
      let failed = DispatchSemaphore(value: 0)
      let address = BrokerAddress(host: "a", port: 1)
      limiting(Limit.memory) {
        let connector = Connector([address]) { (_) throws(BrokerError) -> Connection in
          throw .unreachable("it was tried")
        } done: {
          failed.signal()
        }
        failed.wait()
        guard case .failed(.unreachable(let reason)) = connector.take() else {
          Issue.record("the attempt has not failed")
          return
        }
        #expect(reason.hasPrefix("no thread could be started"))
      }
    }
  }
}

/// The resource limits of this process.
private enum Limit {
  #if canImport(Glibc)
  typealias Resource = __rlimit_resource_t
  static let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  static let memory = __rlimit_resource_t(RLIMIT_AS.rawValue)
  #else
  typealias Resource = Int32
  static let files = RLIMIT_NOFILE
  static let memory = RLIMIT_AS
  #endif

  /// Sets a limit, and returns the one before.
  @discardableResult static func set(_ resource: Resource, to value: rlim_t) -> rlim_t {
    var limit = rlimit()
    getrlimit(resource, &limit)
    defer {
      limit.rlim_cur = value
      setrlimit(resource, &limit)
    }
    return limit.rlim_cur
  }
}
