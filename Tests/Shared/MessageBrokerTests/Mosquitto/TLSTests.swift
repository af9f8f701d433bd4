import InMemoryBroker
import MessageBroker
import MosquittoBroker
import TestSupport
import Testing

/// A certificate that is not trusted, or not valid for this host, is refused and reported as such.
@Suite(.limitedConcurrency, .timeLimit(.minutes(10)))
struct TLSTests {
  @Test func aTrustedCertificateIsAccepted() async throws {
    try await withSecureMosquitto { server, certificates in
      var configuration = MosquittoClient.Configuration.loopback(server.port)
      configuration.tls = .init(caFile: certificates.ca)
      let broker = try MosquittoClient(configuration)
      await broker.connect(
        SessionOptions(clientID: "kiosk", subscriptions: [try TopicFilter("echo")]))
      try await broker.expectOnline()
      // More than a TLS record, so that some data waits in a buffer that poll(2) does not see.
      let messages = (0..<50).map {
        Message(topic: "echo", payload: .init(repeating: $0, count: 2_000))
      }
      try await broker.publish(messages)
      #expect(try await broker.nextDeliveries(50).map(\.message) == messages)
      await broker.disconnect(grace: .seconds(5))
    }
  }

  @Test func anUnknownAuthorityIsRefused() async throws {
    let other = try Certificates()
    defer { other.tearDown() }
    try await withSecureMosquitto { server, _ in
      try await expectRefusal(server, "certificate verify failed") {
        $0.tls = .init(caFile: other.ca)
      }
    }
  }

  @Test func anotherHostNameIsRefused() async throws {
    try await withSecureMosquitto(host: "DNS:elsewhere") { server, certificates in
      // libmosquitto 2.1 leaves the check to OpenSSL, which has one error for all reasons.
      try await expectRefusal(server, "verif") {
        $0.tls = .init(caFile: certificates.ca)
      }
    }
  }

  @Test func aFileThatCannotBeReadIsNamed() async throws {
    try await withSecureMosquitto { server, _ in
      let advice = "No such file or directory: install the package ca-certificates"
      try await expectRefusal(server, advice) { $0.tls = .init(caFile: "/etc/ssl/certs/none.crt") }
      try await expectRefusal(server, "cannot read /nowhere/ca.crt") {
        $0.tls = .init(caFile: "/nowhere/ca.crt")
      }
    }
  }

  @Test func aClientCertificateLetsIn() async throws {
    try await withSecureMosquitto(requiresClientCertificate: true) { server, certificates in
      var configuration = MosquittoClient.Configuration.loopback(server.port)
      configuration.tls = .init(
        caFile: certificates.ca, certificateFile: certificates.clientCertificate,
        keyFile: certificates.clientKey)
      let broker = try MosquittoClient(configuration)
      await broker.connect(SessionOptions(clientID: "kiosk"))
      #expect(try await broker.event() == .sessionBegan)
      #expect(try await broker.event() == .online)
      try await expectRefusal(server, "certificate") {
        $0.tls = .init(caFile: certificates.ca)
      }
    }
  }

  private func withSecureMosquitto(
    host: String = "DNS:localhost,IP:127.0.0.1", requiresClientCertificate: Bool = false,
    _ test: (Mosquitto, Certificates) async throws -> Void
  ) async throws {
    let certificates = try Certificates(for: host)
    defer { certificates.tearDown() }
    try await withMosquitto {
      $0.tls = certificates
      $0.requiresClientCertificate = requiresClientCertificate
    } _: { server in
      try await test(server, certificates)
    }
  }

  private func expectRefusal(
    _ server: Mosquitto, _ cause: String,
    _ change: (inout MosquittoClient.Configuration) -> Void
  ) async throws {
    var configuration = MosquittoClient.Configuration.loopback(server.port)
    change(&configuration)
    let broker = try MosquittoClient(configuration)
    await broker.connect(SessionOptions(clientID: "kiosk"))
    let reason = try await broker.expectOffline()
    switch reason {
    case .tls(let detail), .connectionLost(let detail):
      #expect(detail.contains(cause), "\(reason)")
    default: Issue.record("not told as a failure of TLS: \(reason)")
    }
  }
}
