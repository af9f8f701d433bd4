import JuiceDomain
import KioskProtocol
import Testing

@Suite struct SettingsTests {
  private static let whole =
    #"{"id":"s1","replaces":"s0","currency":"EUR","prices":{"kiwi":"3.50","mango":"4.00"},"#
    + #""capacity":{"kiwi":80},"low":{"kiwi":9},"disabled":["mango"],"#
    + #""hours":{"mon":"07:00-22:00","fri":"18:00-02:00"}}"#

  private func read(_ payload: String) throws -> SettingsCommand {
    let request = try Request(kind: .settings, payload: Array(payload.utf8))
    guard case .settings(let command) = request.command else {
      throw Rejection(.malformed, "another command")
    }
    #expect(request.id == "s1")
    return command
  }

  @Test func aChangeIsReadAndWritten() throws {
    let command = try read(Self.whole)
    #expect(command.replaced == "s0")
    #expect(command.change.prices["kiwi"] == Money("3.50", .euro))
    #expect(command.change.capacities == ["kiwi": 80])
    #expect(command.change.lowMarks == ["kiwi": 9])
    #expect(command.change.disabled == ["mango"])
    #expect(command.change.hours?.text == "mon 07:00-22:00, fri 18:00-02:00")
    let request = Request(id: "s1", command: .settings(command))
    #expect(String(decoding: request.payload, as: UTF8.self) == Self.whole)
    #expect(try read(#"{"id":"s1","hours":null,"prices":null,"other":1}"#).change.isEmpty)
  }

  @Test(
    arguments: [
      ("{}", .malformed, "id is missing"), (#"{"id":"a b"}"#, .malformed, "id is not"),
      (#"{"id":"s1","replaces":1}"#, .malformed, "replaces"),
      (#"{"id":"s1","prices":{"kiwi":"3.50"}}"#, .malformed, "currency is missing"),
      (#"{"id":"s1","currency":"EUR","prices":{"kiwi":3}}"#, .malformed, "prices.kiwi"),
      (#"{"id":"s1","currency":"EUR","prices":{"kiwi":"-3"}}"#, .malformed, "prices.kiwi"),
      (#"{"id":"s1","currency":"EUR","prices":{"kiwi":"3.501"}}"#, .malformed, "prices.kiwi"),
      (#"{"id":"s1","currency":"KRW","prices":{"kiwi":"1000000000001"}}"#, .malformed, "kiwi"),
      (#"{"id":"s1","currency":"EUR","prices":{"<b>":"3"}}"#, .unknownJuice, "a key under prices"),
      (#"{"id":"s1","currency":"EUR","prices":[]}"#, .malformed, "prices is an array"),
      (#"{"id":"s1","low":{"kiwi":-1}}"#, .malformed, "low.kiwi"),
      (#"{"id":"s1","capacity":{"kiwi":1000000001}}"#, .malformed, "capacity.kiwi"),
      (#"{"id":"s1","capacity":{"kiwi":1.5}}"#, .malformed, "capacity.kiwi"),
      (#"{"id":"s1","low":{"é":1}}"#, .unknownFruit, "a key under low"),
      (#"{"id":"s1","disabled":"mango"}"#, .malformed, "disabled is a text"),
      (#"{"id":"s1","disabled":[1]}"#, .unknownJuice, "an element of disabled"),
      (#"{"id":"s1","hours":{}}"#, .malformed, "hours is no object with days"),
      (#"{"id":"s1","hours":{"Mon":"07:00-22:00"}}"#, .malformed, "hours has a day"),
      (#"{"id":"s1","hours":{"mon":"7-22"}}"#, .malformed, "hours has a day"),
    ] as [(String, RejectionReason, String)])
  func anInvalidOneIsRejected(payload: String, reason: RejectionReason, detail: String) throws {
    let rejection = #expect(throws: Rejection.self) { try read(payload) }
    #expect(rejection?.reason == reason)
    #expect(rejection?.detail.contains(detail) == true)
  }

  private static let menu =
    #"{"id":"s1","fruits":[{"id":"orange","name":{"en":"Orange","ko":"오렌지"},"crate":12,"#
    + ##""keeps_hours":72,"color":"#ff922b"}],"juices":[{"id":"orange","##
    + #""name":{"en":"Orange juice","ko":"오렌지쥬스"},"recipe":{"kiwi":1,"orange":3},"#
    + #""allergens":{"en":"None","ko":"없음"},"note":{"en":"New","ko":"새 메뉴"},"#
    + #""picture":"orange.svg"}],"currency":"EUR","prices":{"orange":"4.00"}}"#

  @Test func fruitsAndJuicesAreReadAndWritten() throws {
    let command = try read(Self.menu)
    let (fruit, juice) = (command.change.fruits[0], command.change.juices[0])
    #expect(fruit.name[.korean] == "오렌지" && fruit.crate == 12 && fruit.keepsHours == 72)
    #expect(juice.recipe.amounts == ["orange": 3, "kiwi": 1] && juice.price == nil)
    let request = Request(id: "s1", command: .settings(command))
    #expect(String(decoding: request.payload, as: UTF8.self) == Self.menu)
    // Both sides have the same value if a language is missing, so that they can be compared.
    let korean = try read(#"{"id":"s1","fruits":[{"id":"fig","name":{"ko":"무화과"}}]}"#)
    let again = Request(id: "s1", command: .settings(korean)).payload
    #expect(try read(String(decoding: again, as: UTF8.self)) == korean)
  }

  @Test(
    arguments: [
      ("fruits", "1", "fruits is a whole number; an array is expected"),
      ("fruits", "[1]", "fruits.1.it is not an object"),
      ("fruits", "[{}]", "fruits.1.id is missing"),
      ("fruits", #"[{"id":"a b"}]"#, "fruits.a b.id is not 1 to 64 of"),
      ("fruits", #"[{"id":"default","name":{"en":"A"}}]"#, "fruits.default.id is reserved"),
      ("fruits", #"[{"id":"fig"}]"#, "fruits.fig.name is missing"),
      ("fruits", #"[{"id":"fig","name":{}}]"#, "fruits.fig.name is missing"),
      ("fruits", #"[{"id":"fig","name":"Fig"}]"#, "fruits.fig.name is not an object"),
      ("fruits", #"[{"id":"fig","name":{"en":" "}}]"#, "fruits.fig.name.en must not be empty"),
      ("fruits", #"[{"id":"fig","name":{"de":"Feige"}}]"#, "fruits.fig.name.de is not allowed"),
      ("fruits", #"[{"id":"fig","name":{"ko":"a\nb"}}]"#, "fruits.fig.name.ko must be one line"),
      ("fruits", #"[{"id":"fig","name":{"ko":7}}]"#, "fruits.fig.name.ko is not a text"),
      (
        "fruits", #"[{"id":"fig","name":{"en":"Fig"},"crate":0}]"#,
        "fruits.fig.crate must be a whole number from 1 to 10000"
      ),
      ("fruits", #"[{"id":"fig","name":{"en":"Fig"},"keeps_hours":8761}]"#, "fig.keeps_hours"),
      ("fruits", #"[{"id":"fig","name":{"en":"Fig"},"color":"red"}]"#, "fig.color is not a color"),
      ("fruits", #"[{"id":"fig","name":{"en":"Fig"},"cost":"1"}]"#, "fig.cost is not allowed"),
      (
        "fruits", #"[{"id":"fig","name":{"en":"A"}},{"id":"fig","name":{"en":"B"}}]"#,
        "fruits.fig.id is used twice"
      ),
      ("juices", #"[{"id":"fig","name":{"en":"A"}}]"#, "juices.fig.recipe is missing"),
      ("juices", #"[{"id":"fig","name":{"en":"A"},"recipe":{}}]"#, "juices.fig.recipe is missing"),
      ("juices", #"[{"id":"fig","name":{"en":"A"},"recipe":[]}]"#, "fig.recipe is not an object"),
      (
        "juices", #"[{"id":"fig","name":{"en":"A"},"recipe":{"kiwi":0}}]"#,
        "juices.fig.recipe.kiwi must be a whole number from 1 to 1000000000"
      ),
      ("juices", #"[{"id":"fig","name":{"en":"A"},"recipe":{"a b":1}}]"#, "recipe.a b is not 1 to"),
      ("juices", #"[{"id":"fig","name":{"en":"A"},"recipe":{"a":1},"price":"3"}]"#, "fig.price"),
      (
        "juices", #"[{"id":"fig","name":{"en":"A"},"recipe":{"a":1},"picture":"../a.svg"}]"#,
        "juices.fig.picture is not the name of a picture"
      ),
    ])
  func anInvalidFruitOrJuiceIsRejected(key: String, value: String, detail: String) throws {
    let rejection = #expect(throws: Rejection.self) {
      try read(#"{"id":"s1","\#(key)":\#(value)}"#)
    }
    #expect(rejection?.reason == .malformed)
    #expect(rejection?.detail.contains(detail) == true, "\(rejection?.detail ?? "")")
  }

  @Test func aTextThatIsTooLongIsRejected() throws {
    let name = String(repeating: "가", count: 65)
    let rejection = #expect(throws: Rejection.self) {
      try read(#"{"id":"s1","fruits":[{"id":"fig","name":{"ko":"\#(name)"}}]}"#)
    }
    #expect(rejection?.detail == "fruits.fig.name.ko must not be longer than 64 characters")
  }

  @Test func aReportIsReadAndWritten() throws {
    let command = try read(Self.whole)
    let file = MenuReport(menu: .standard, capacities: ["kiwi": 100], lowMarks: ["kiwi": 5])
    let stored = StoredSettings(
      id: "s1", by: "minji", at: Timestamp(milliseconds: 0), change: command.change)
    let report = SettingsReport(
      stored: stored, file: file, fileHours: command.change.hours, unused: ["there is no tea"])
    #expect(try SettingsReport(payload: report.payload) == report)
    #expect(try StoredSettings(payload: stored.payload) == stored)
    let own = SettingsReport(stored: nil, file: file, fileHours: nil)
    #expect(try SettingsReport(payload: own.payload) == own)
    for payload in [
      "", "{}", #"{"id":"s1"}"#, #"{"id":"s1","by":"a","at":"1970-01-01T00:00:00Z"}"#,
    ] {
      #expect(throws: JSONError.self) { try SettingsReport(payload: Array(payload.utf8)) }
    }
  }
}
