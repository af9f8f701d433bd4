import Testing

@testable import KioskDaemon
@testable import YAMLConfiguration

/// Tests the section `uplink`.
@Suite struct UplinkConfigurationTests {
  private func uplink(_ yaml: String) throws -> KioskConfiguration.Uplink? {
    try KioskConfiguration.parse(yaml: yaml, file: "kiosk.yaml").uplink
  }

  @Test func withoutItTheLedgerStays() throws { #expect(try uplink("") == nil) }

  @Test func theUsualPortDependsOnTheEncryption() throws {
    let plain = try #require(try uplink("uplink: {addresses: [a, 'b:7', '[fe80::1]:9', '[::1]']}"))
    #expect((plain.broker.host, plain.broker.port) == ("a", 1883))
    #expect(
      plain.broker.others
        == [
          .init(host: "b", port: 7), .init(host: "fe80::1", port: 9),
          .init(host: "::1", port: 1883),
        ]
    )
    #expect(try uplink("uplink: {addresses: [a], tls: {}}")?.broker.port == 8883)
  }

  @Test func itHasANameOfItsOwnAndTheRootOfTheKiosk() throws {
    let yaml = "kiosk: {id: k7, root: shop}\nuplink: {addresses: [a]}"
    let uplink = try #require(try uplink(yaml))
    #expect(uplink.root == "shop")
    #expect(uplink.broker.clientID == "juice-kiosk-k7-uplink")
    #expect(try self.uplink("uplink: {addresses: [a], root: chain/x}")?.root == "chain/x")
  }

  @Test(arguments: [
    ("uplink: {}", "needs addresses"), ("uplink:", "needs addresses"),
    ("uplink: {root: x}", "needs addresses"), ("uplink: {addresses: []}", "needs addresses"),
    ("uplink: {addresses: [a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a]}", "needs addresses"),
    ("uplink: {addresses: ['a:0']}", "the port of 'a:0' must be from 1 to 65535"),
    ("uplink: {addresses: ['a:70000']}", "must be from 1 to 65535"),
    ("uplink: {addresses: ['mqtt://a']}", "'mqtt://a' is not an address"),
    ("uplink: {addresses: ['fe80::1']}", "is not an address"),
    ("uplink: {addresses: [a], host: b}", "there is no such key"),
    ("uplink: {addresses: [a], entries_per_second: 0}", "from 1 to 10000"),
    ("uplink: {addresses: [a], password_file: p}", "a password needs an account"),
  ])
  func whatIsWrongIsSaid(yaml: String, words: String) {
    #expect(errors(yaml).contains { $0.contains(words) }, "\(errors(yaml))")
  }
}
