import JuiceDomain
import Testing

@Suite struct LocalizedNameTests {
  @Test(
    arguments: [
      ("Kiwi", "키위", "Kiwi", "키위"),
      ("Kiwi", nil, "Kiwi", "Kiwi"),
      (nil, "키위", "키위", "키위"),
      (nil, nil, "kiwi", "kiwi"),
    ] as [(String?, String?, String, String)])
  func anotherNameStandsInForAMissingOne(
    english: String?, korean: String?, inEnglish: String, inKorean: String
  ) {
    let name = LocalizedName(english: english, korean: korean, fallback: "kiwi")
    #expect(name[.english] == inEnglish)
    #expect(name[.korean] == inKorean)
  }

  @Test func languagesGoByTheirCodes() {
    #expect(Language(rawValue: "en") == .english)
    #expect(Language(rawValue: "ko") == .korean)
    #expect(Language(rawValue: "KO") == nil)
  }
}
