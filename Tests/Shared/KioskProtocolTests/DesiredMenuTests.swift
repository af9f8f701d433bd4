import KioskProtocol
import Testing

@Suite struct DesiredMenuTests {
  @Test func itIsReadAsItIsWritten() throws {
    let menu = DesiredMenu(version: 7, text: "menu:\n  juices: {비: \"\\\"}\n")
    #expect(try DesiredMenu(payload: menu.payload) == menu)
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"version":1}"#, #"{"menu":""}"#, #"{"version":0,"menu":""}"#,
    #"{"version":"1","menu":""}"#, #"{"version":1,"menu":{}}"#,
    #"{"version":1,"version":2,"menu":""}"#,
  ])
  func whatIsNoneIsNotRead(payload: String) {
    #expect(throws: JSONError.self) { try DesiredMenu(payload: Array(payload.utf8)) }
  }

  @Test(arguments: [
    (DesiredMenuReport.taken(version: 7), #"{"version":7,"status":"taken"}"#),
    (.taken(version: 0), #"{"version":0,"status":"taken"}"#),
    (
      .taken(version: 0, detail: "damaged"), #"{"version":0,"status":"taken","detail":"damaged"}"#
    ),
    (.refused(version: 7, detail: "no"), #"{"version":7,"status":"refused","detail":"no"}"#),
    (.refused(version: nil, detail: "no"), #"{"status":"refused","detail":"no"}"#),
  ])
  func aReportIsWrittenAndRead(report: DesiredMenuReport, text: String) throws {
    #expect(String(decoding: report.payload, as: UTF8.self) == text)
    #expect(try DesiredMenuReport(payload: Array(text.utf8)) == report)
  }

  @Test(arguments: [
    "", "{}", #"{"version":1}"#, #"{"status":"taken"}"#, #"{"version":-1,"status":"taken"}"#,
  ])
  func whatSaysNothingIsNoReport(payload: String) {
    #expect(throws: JSONError.self) { try DesiredMenuReport(payload: Array(payload.utf8)) }
  }
}
