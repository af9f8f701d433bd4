import Dispatch
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
}
