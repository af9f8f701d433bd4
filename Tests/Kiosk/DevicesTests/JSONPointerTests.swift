import KioskProtocol
import Testing

@testable import Devices

@Suite struct JSONPointerTests {
  /// The examples of RFC 6901, section 5, that are objects and arrays.
  @Test(arguments: [
    ("/foo/0", JSON.string("bar")), ("/", .integer(0)), ("/a~1b", .integer(1)),
    ("/c%d", .integer(2)), ("/m~0n", .integer(8)), ("/x~01", .integer(9)),
  ]) func finds(text: String, value: JSON) throws {
    let json = try JSON.parse(
      Array(#"{"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"m~n":8,"x~1":9}"#.utf8))
    let pointer = try #require(JSONPointer(text))
    #expect(json[pointer] == value)
  }

  @Test(arguments: ["/foo/2", "/foo/-1", "/foo/01", "/foo/x", "/bar", "/foo/0/x"])
  func findsNothing(text: String) throws {
    let json = try JSON.parse(Array(#"{"foo":["bar","baz"]}"#.utf8))
    let pointer = try #require(JSONPointer(text))
    #expect(json[pointer] == nil)
  }

  @Test(arguments: ["", "foo", "/a~", "/a~2"]) func isRefused(text: String) {
    #expect(JSONPointer(text) == nil)
  }
}
