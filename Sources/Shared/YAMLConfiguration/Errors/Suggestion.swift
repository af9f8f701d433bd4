/// Suggestions for misspelled words.
package enum Suggestion {
  /// Returns a question with the most similar word; if no word is similar, a list of all words.
  /// Returns `nil` if there are no words.
  package static func hint(for word: String, among words: [String]) -> String? {
    guard !words.isEmpty else { return nil }
    if let nearest = nearest(to: word, among: words) { return "did you mean '\(nearest)'?" }
    return "known here: \(words.joined(separator: ", "))"
  }

  /// Returns the most similar word that needs at most one edit per three of its letters, or one
  /// edit. Three or more first letters (`password` for `password_file`) count as at most two edits.
  private static func nearest(to word: String, among words: [String]) -> String? {
    // Limits the time of the comparison, which is quadratic. No key is longer than 64 bytes.
    guard word.utf8.count <= 64 else { return nil }
    let word = word.lowercased()
    return words.map { candidate in
      let slips = distance(word, candidate.lowercased())
      let isBeginning = word.count > 2 && candidate.lowercased().hasPrefix(word)
      return (word: candidate, distance: isBeginning ? min(slips, 2) : slips)
    }
    .filter { $0.distance <= max(1, $0.word.count / 3) }
    .min { $0.distance < $1.distance }?.word
  }

  /// Returns the number of insertions, deletions, replacements and swaps of adjacent letters (the
  /// optimal string alignment distance).
  private static func distance(_ left: String, _ right: String) -> Int {
    let (left, right) = (Array(left), Array(right))
    var rows = [Array(0...right.count)]
    for i in left.indices {
      var row = [i + 1]
      for j in right.indices {
        let replaced = rows[i][j] + (left[i] == right[j] ? 0 : 1)
        var cost = min(replaced, rows[i][j + 1] + 1, row[j] + 1)
        if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
          cost = min(cost, rows[i - 1][j - 1] + 1)
        }
        row.append(cost)
      }
      rows.append(row)
    }
    return rows[left.count][right.count]
  }
}
