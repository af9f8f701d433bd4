/// The languages in which a kiosk speaks to its customers.
package enum Language: String, CaseIterable, Sendable {
  case english = "en"
  case korean = "ko"
}

/// A name in every language the kiosk speaks; where one is missing, another stands in for it.
package struct LocalizedName: Hashable, Sendable {
  private let english: String?
  private let korean: String?
  private let fallback: String

  /// - Parameter fallback: what is shown if there is no name at all, usually the id.
  package init(english: String? = nil, korean: String? = nil, fallback: String) {
    self.english = english
    self.korean = korean
    self.fallback = fallback
  }

  package subscript(language: Language) -> String {
    switch language {
    case .english: english ?? korean ?? fallback
    case .korean: korean ?? english ?? fallback
    }
  }
}
