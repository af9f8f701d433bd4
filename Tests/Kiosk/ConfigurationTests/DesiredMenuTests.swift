import JuiceDomain
import KioskProtocol
import Testing

@testable import KioskDaemon
@testable import YAMLConfiguration

/// Tests a desired menu combined with a kiosk's own configuration.
@Suite struct DesiredMenuTests {
  private func read(_ own: String, under menu: String) throws -> KioskConfiguration {
    var configuration = KioskConfiguration()
    try Document.read(own, file: "k.yaml", environment: [:]) {
      configuration.read(&$0, under: DesiredMenu(version: 7, text: menu))
    }
    return configuration
  }

  private func errors(_ own: String, under menu: String) throws -> [String] {
    do {
      _ = try read(own, under: menu)
      return []
    } catch let errors as ConfigurationErrors {
      return errors.errors.map(\.description)
    }
  }

  private static let kiwi =
    "menu: {currency: EUR, juices: {green: {recipe: {kiwi: 2}, price: 3.50}}}"

  @Test func itStandsOverTheFilesOwn() throws {
    let own = "{menu: {fruits: {kiwi: {en: Kiwi, crate: 6}}, juices: {kiwi: {recipe: {kiwi: 3}}}}}"
    let read = try read(own, under: Self.kiwi)
    #expect(read.menu.juices.map(\.id) == ["green"])
    #expect(read.menu.juice("green")?.price?.text == "3.50")
    #expect(read.menu.fruits.map(\.crate) == [6])
    #expect(read.desiredMenu?.version == 7)
  }

  @Test func theBuiltInMenuMayBeItsBase() throws {
    let read = try read(
      "", under: "menu: {base: standard, currency: EUR, juices: {kiwi: {price: 3.80}}}")
    #expect(read.menu.juices.count == Menu.standard.juices.count)
    #expect(read.menu.juice("kiwi")?.price?.text == "3.80")
  }

  @Test func aByteOrderMarkIsPassedOver() throws {
    #expect(try read("\u{FEFF}kiosk: {id: k9}", under: "\u{FEFF}" + Self.kiwi).kiosk.id == "k9")
  }

  /// Pairs of a configuration and a menu, with the expected errors.
  @Test(arguments: [
    ("", "", ["menu 7: menu: is missing"]),
    (
      "", "menu: {juices: {}}",
      [
        "menu 7:1:1: menu: there is no juice; list at least one, or leave the menu out for the built-in one"
      ]
    ),
    (
      "", "menu: [",
      [
        "menu 7:2:1: this is not YAML: while parsing a flow node, did not find expected node content"
      ]
    ),
    (
      "", "kiosk: {id: k9}\n\(kiwi)",
      ["menu 7:1:1: kiosk: there is no such key; known here: menu"]
    ),
    (
      "", "menu: {fruits: {tea: Tea}, base: standard}",
      [
        "menu 7:1:17: menu.fruits.tea: is allowed only in the kiosk's own file"
      ]
    ),
    (
      "", "menu: {juices: {tea: {recipe: {tea: 1}}}}",
      [
        "menu 7:1:32: menu.juices.tea.recipe.tea: the menu has no such fruit; "
          + "known here: strawberry, banana, pineapple, kiwi, mango"
      ]
    ),
    (
      "menu: {fruits: {kiwi: Kiwi}, juices: {kiwi: {recipe: {kiwi: 1}}}}", "menu: {base: standard}",
      [
        "menu 7:1:1: menu: the recipe takes strawberry, which is not among the fruits; "
          + "add it there or correct its name"
      ]
    ),
    (
      "panels: [{name: a, device: tasmota, topic: a, buttons: {single: mango}}]", kiwi,
      [
        "k.yaml:1:57: panels.1.buttons.single: there is no juice 'mango' on the menu; known here: green"
      ]
    ),
    (
      "machines: [{name: bar, juices: [mango]}]", kiwi,
      [
        "k.yaml:1:24: machines.1.juices: there is no juice 'mango' on the menu; known here: green"
      ]
    ),
    (
      "{machines: [{name: bar, juices: [mango]}]}",
      "menu: {base: standard, juices: {green: {recipe: {kiwi: 2}}}}",
      [
        "k.yaml:1:2: machines: none of them makes green, which menu 7 has"
      ]
    ),
    // Juices that the owner's menu has, made by hand.
    ("{machines: [{name: bar, juices: [mango]}]}", "menu: {base: standard}", []),
    ("machines: [{name: bar}]", kiwi, []),
  ])
  func whatIsWrongForThisKioskIsTold(own: String, menu: String, expected: [String]) throws {
    let found = try errors(own, under: menu)
    #expect(found == expected)
  }

  @Test func aMenuThatIsTooLargeIsNotRead() throws {
    let long = "# " + String(repeating: "x", count: Document.maximumSize)
    #expect(try errors("", under: long) == ["menu 7: is larger than 1048576 bytes"])
  }
}
