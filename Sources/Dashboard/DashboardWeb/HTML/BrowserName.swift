/// The names of a browser and its system, from the header `User-Agent`.
enum BrowserName {
  /// Browsers by the word that identifies them. Earlier rows decide, because later words are also part
  /// of the headers of other browsers.
  private static let browsers = [
    ("Edg", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser/", "Samsung Internet"),
    ("Whale/", "Whale"), ("KAKAOTALK", "KakaoTalk"), ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
  ]
  private static let systems = [
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"),
    ("CrOS", "ChromeOS"), ("Mac OS X", "macOS"), ("Linux", "Linux"),
  ]

  /// Returns a name such as `Chrome, Android`, or the header itself if it names no known browser.
  static func text(_ header: String) -> String {
    func name(_ table: [(word: String, name: String)]) -> String? {
      table.first { header.contains($0.word) }?.name
    }
    guard let browser = name(browsers) else { return header }
    return [browser, name(systems)].compactMap(\.self).joined(separator: ", ")
  }
}
