/// The languages of names and of messages for people.
package enum Language: String, CaseIterable, Sendable {
  case english = "en"
  case korean = "ko"
}

/// A name in each language. A missing name is replaced by the name in the other language.
package struct LocalizedName: Hashable, Sendable {
  private let english: String?
  private let korean: String?
  private let fallback: String

  /// Creates a name.
  ///
  /// - Parameter fallback: The name to use if both names are missing, usually the id.
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
