import JuiceDomain
import KioskProtocol
import Testing

@testable import Archive
@testable import YAMLConfiguration

@Suite struct KioskListTests {
  private func errors(_ csv: String) -> [String] {
    do throws(ConfigurationErrors) {
      _ = try KioskList.parse(csv: csv, file: "k.csv")
      return []
    } catch {
      return error.errors.map(\.description)
    }
  }

  @Test func aLineIsAKiosk() throws {
    let csv = #"""
      \#u{FEFF}id,region,name,place\#r
      k1,north,"Juice, ""big""", By  the door \#r

      k-2,서울,,
      """#
    #expect(
      try KioskList.parse(csv: csv, file: "k.csv").kiosks == [
        ListedKiosk(
          id: "k1", region: "north", name: #"Juice, "big""#, place: "By the door"),
        ListedKiosk(id: "k-2", region: "서울"),
      ])
  }

  @Test(arguments: [
    ("", "k.csv:1:1: the first line is not the header; write: id,region,name,place"),
    ("k1,north,,", "k.csv:1:1: the first line is not the header; write: id,region,name,place"),
    ("k1,north", "k.csv:2:1: has 2 fields instead of 4; write: id,region,name,place"),
    ("k1,north,,,x", "k.csv:2:1: has 5 fields instead of 4; write: id,region,name,place"),
    ("k 1,north,,", "k.csv:2:1: id: is not 1 to 64 of A-Z a-z 0-9 _ -"),
    ("k1, ,,", "k.csv:2:4: region: must not be empty"),
    ("k1,north,\u{7},", "k.csv:2:10: name: contains a control character"),
    (
      "k1,\(String(repeating: "r", count: 65)),,",
      "k.csv:2:4: region: must not be longer than 64 characters"
    ),
    ("k1,north,\"a,", "k.csv:2:10: a quote is not closed; a quote in a field is written \"\""),
    ("k1,north,\"a\"b,", "k.csv:2:13: a comma is missing"),
    ("k1,north,,\nk1,south,,", "k.csv:3:1: id: k1 is already in line 2"),
    (String(repeating: ",", count: 5000), "k.csv:2:1: is longer than 4096 bytes"),
    ("id;region;name;place", "k.csv:2:1: has 1 fields instead of 4; write: id,region,name,place"),
  ])
  func aMistakeIsAnErrorWithItsLine(csv: String, error: String) {
    let isWithoutHeader = error.contains("the first line")
    #expect(errors((isWithoutHeader ? "" : "id,region,name,place\n") + csv) == [error])
  }

  @Test(arguments: [
    "id;region;name;place\r\nk1;north;\"Juice; big\";Door, left\r\n",
    "\u{FEFF}id\tregion\tname\tplace\r\nk1\tnorth\tJuice; big\tDoor, left\r\n",
    "sep=;\r\nid;region;name;place;;\r\nk1;north;Juice; big;Door, left\r\n".replacing(
      "Juice; big", with: "\"Juice; big\""),
    "\u{FEFF}sep=,\r\nid,region,name,place,,\r\nk1,north,Juice; big,\"Door, left\",,\r\n,,,,,\r\n",
    "\"id\",\"region\",\"name\",\"place\"\nk1,north,Juice; big,\"Door, left\"",
  ])
  func aFileThatExcelHasWrittenIsRead(csv: String) throws {
    #expect(
      try KioskList.parse(csv: csv, file: "k.csv").kiosks == [
        ListedKiosk(id: "k1", region: "north", name: "Juice; big", place: "Door, left")
      ])
  }

  @Test(arguments: ["sep=;\nid,region,name,place\n", "sep=;;\nid;region;name;place\n"])
  func theHeaderHasTheSeparatorThatWasGiven(csv: String) {
    #expect(errors(csv).count == 1)
  }

  @Test func noMoreThanTwentyErrorsAreTold() {
    #expect(errors("id,region,name,place\n" + String(repeating: "x\n", count: 1000)).count == 20)
  }
}
