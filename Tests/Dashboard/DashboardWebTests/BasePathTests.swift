import HTTPTypes
import JuiceDomain
import Testing

@testable import DashboardWeb

@Suite struct BasePathTests {
  @Test(arguments: ["/juice", "/home/juice-1", "/api/hassio_ingress/a_B~9", "/.a"])
  func aPathIsOneOrSeveralNames(text: String) {
    #expect(BasePath(text)?.text == text)
  }

  @Test(arguments: [
    "", "/", "juice", "/juice/", "//evil.example", "/a//b", "/..", "/a/./b", "/a b", "/a\"", "/a?b",
    "/a\\b", "/a\r\nSet-Cookie:x", "/쥬스", "/" + String(repeating: "a", count: 200),
  ])
  func anyOtherTextIsNone(text: String) {
    #expect(BasePath(text) == nil)
  }

  @Test(
    arguments: [
      ("/juice", "/"), ("/juice/", "/"), ("/juice?q=1", "/?q=1"),
      ("/juice/kiosks/k1", "/kiosks/k1"),
      ("/kiosks/k1", "/kiosks/k1"), ("/juicebar", "/juicebar"), ("/juice//x", "//x"),
    ])
  func aProxyRemovesItOrNot(target: String, path: String) throws {
    #expect(try #require(BasePath("/juice")).removed(from: target) == path)
    #expect(BasePath.none.removed(from: target) == target)
  }

  @Test func linksOfTheMarkupAreBelowItAndTextsAreUnchanged() throws {
    let text = "<a href=\"/x\">"
    let path = "/kiosks/k1"
    let html: HTML = """
      <a href="\(path)" title=" href=\(text)">\(text)</a><form action="/x"></form><img src="/y">
      <a href="#main"></a><a href="?q=1"></a><input value="/z"><body data-live="/live" data-reload="/x">
      """
    let below = html.links(below: try #require(BasePath("/juice"))).text
    #expect(
      below == """
        <a href="/juice/kiosks/k1" title=" href=&lt;a href=&quot;/x&quot;&gt;">&lt;a href=&quot;/x\
        &quot;&gt;</a><form action="/juice/x"></form><img src="/juice/y">
        <a href="#main"></a><a href="?q=1"></a><input value="/z"><body data-live="/juice/live" data-reload="/juice/x">
        """)
  }

  @Test func cookiesAndRedirectsAreBelowIt() async throws {
    let settings = DashboardSettings(
      port: 0, isBehindProxy: true, basePath: try #require(BasePath("/juice")))
    try await Scene.run(settings) { scene in
      for path in ["/kiosks/k1", "/juice/kiosks/k1"] {
        let answer = try await scene.get(path)
        #expect(answer.headers[.location] == "/juice/login?to=/kiosks/k1")
      }
      let page = try await scene.get("/juice/login")
      // The server writes the attributes in random order.
      let cookie = try #require(page.headers[.setCookie]).split(separator: "; ")
      #expect(cookie.contains("Path=/juice") && cookie.contains("Secure"))
      #expect(page.text.contains("action=\"/juice/login\""))
      #expect(try await scene.get("/juice/language/ko?to=//a").headers[.location] == "/juice/")
    }
  }

  /// Home Assistant's ingress removes its path, names it, and shows the page in a frame.
  @Test(arguments: [true, false])
  func theIngressOfHomeAssistantNamesItsPath(isBehindProxy: Bool) async throws {
    let settings = DashboardSettings(port: 0, isBehindProxy: isBehindProxy)
    try await Scene.run(settings) { scene in
      let fields: HTTPFields = [
        .named("X-Ingress-Path"): "/api/hassio_ingress/t", .named("X-Forwarded-Proto"): "http",
      ]
      let page = try await scene.get("/login", fields)
      #expect(page.text.contains("action=\"/api/hassio_ingress/t/login\"") == isBehindProxy)
      #expect(
        page.headers[.contentSecurityPolicy]?
          .contains(isBehindProxy ? "frame-ancestors 'self'" : "frame-ancestors 'none'") == true)
      // Without encryption in front of Home Assistant, a browser would refuse a secure cookie.
      #expect(page.headers[.setCookie]?.contains("Secure") == false)
      let forged = try await scene.get("/login", [.named("X-Ingress-Path"): "//evil.example"])
      #expect(forged.text.contains("action=\"/login\""))
      #expect(!forged.text.contains("evil"))
    }
  }
}
