import TestSupport
import Testing

@testable import MessageBroker
@testable import MosquittoBroker

/// A broker that relays a message with properties that libmosquitto rejects.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct MalformedPacketTests {
  /// Properties of a PUBLISH (MQTT 5, 3.3.2.3), with their length, that libmosquitto 2.0.11 and
  /// 2.0.21 reject. Version 2.0.21 rejects also an empty response topic and one with a wildcard.
  ///
  /// Unknown properties and a length that never ends are missing: version 2.0.11 aborts the process
  /// (`property__read` logs without a handle). No broker relays them, because it could not read
  /// what follows.
  static let malformed: [[UInt8]] = [
    [4, 0x01, 0, 0x01, 0],  // the same property twice
    [3, 0x08, 0, 9],  // a text that is longer than the properties
    [4, 0x09, 0, 9, 1],  // data that is longer than the properties
    [3, 0x26, 0, 0],  // half a user property
    [3, 0x23, 0, 0],  // topic alias 0
    [3, 0x23, 0, 2],  // a topic alias, though none is permitted; accepted before version 2.1
    [5, 0x08, 0, 2, 0xC3, 0x28],  // not UTF-8
    [4, 0x08, 0, 1, 0],  // U+0000
  ]

  @Test(arguments: malformed)
  func aMalformedMessageIsDeliveredWithoutItsProperties(properties: [UInt8]) async throws {
    let topic: [UInt8] = [0, 6] + Array("orders".utf8) + [0, 1]
    let server = try ScriptedServer { level in
      let isVersion5 = level == 5
      let body = topic + (isVersion5 ? properties : []) + Array("kiwi".utf8)
      return [
        isVersion5 ? [0x20, 3, 0, 0, 0] : [0x20, 2, 0, 0],
        (isVersion5 ? [0x90, 4, 0, 1, 0, 1] : [0x90, 3, 0, 1, 1]) + [0x32, UInt8(body.count)]
          + body,
      ]
    }
    let broker = try MosquittoClient(.loopback(server.port))
    await broker.connect(
      SessionOptions(clientID: "kiosk", subscriptions: [try TopicFilter("orders")]))
    var losses: [BrokerError] = []
    while true {
      switch try await broker.event() {
      case .offline(let reason):
        losses.append(reason)
        guard losses.count <= 2 else {
          Issue.record("\(losses)")
          return
        }
      case .deliveries(let deliveries):
        #expect(deliveries.map(\.text) == ["kiwi"])
        #expect(losses.count == 2 || properties == [3, 0x23, 0, 2] && losses.isEmpty)
        for loss in losses {
          guard case .malformedPacket = loss else {
            Issue.record("\(loss)")
            continue
          }
        }
        return
      default: continue
      }
    }
  }
}
