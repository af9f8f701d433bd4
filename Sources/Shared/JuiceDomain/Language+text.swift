extension Language {
  /// Returns the text in this language. Both translations are arguments, so none can be missing.
  package func callAsFunction(_ english: String, _ korean: String) -> String {
    switch self {
    case .english: english
    case .korean: korean
    }
  }

  /// Returns a duration such as `3 h 20 min`.
  package func length(ofMinutes minutes: Int) -> String {
    switch minutes {
    case ..<60: self("\(minutes) min", "\(minutes)분")
    case ..<(24 * 60) where minutes % 60 == 0 || minutes >= 10 * 60:
      self("\(minutes / 60) h", "\(minutes / 60)시간")
    case ..<(24 * 60):
      self("\(minutes / 60) h \(minutes % 60) min", "\(minutes / 60)시간 \(minutes % 60)분")
    case ..<(48 * 60): self("1 day", "1일")
    default: self("\(minutes / (24 * 60)) days", "\(minutes / (24 * 60))일")
    }
  }

  /// Returns a number with its noun in English: `1 glass`, `2 glasses`.
  package func count(_ number: Int, _ one: String, _ many: String) -> String {
    "\(number) \(number == 1 ? one : many)"
  }
}
