import KioskProtocol

/// The position of the press in the messages of a device without a dialect of its own.
package struct GenericFormat: Hashable, Sendable {
  /// The member that names the press, or `nil` if the whole payload is its name.
  package var action: JSONPointer?
  /// The member that names the button, or `nil` if the action names it or there is only one.
  package var key: JSONPointer?
  /// The member whose value is new for each press and equal in its repeats, or `nil` for none.
  package var counter: JSONPointer?

  package init(
    action: JSONPointer? = nil, key: JSONPointer? = nil, counter: JSONPointer? = nil
  ) {
    self.action = action
    self.key = key
    self.counter = counter
  }

  /// Reads a message.
  ///
  /// - Parameter filter: The topic filter of the panel.
  func read(_ payload: [UInt8], of filter: String) throws(Unreadable) -> Signal {
    guard action != nil || counter != nil else {
      return Signal(presses: try [press(String(validating: payload, as: UTF8.self))])
    }
    let json: JSON
    do { json = try JSON.parse(payload) } catch { throw Unreadable("not JSON: \(error)") }
    // A device may publish other messages on the same topic.
    guard let value = action.map({ json[$0] }) ?? json, let word = value.word, !word.isEmpty else {
      return Signal()
    }
    var input: String?
    if let key {
      guard let word = json[key]?.word, !word.isEmpty else { return Signal() }
      input = word.filter { !$0.isNewline }
    }
    let press = try press(word, of: input)
    guard let counter else { return Signal(presses: [press]) }
    guard let count = json[counter]?.word else {
      throw Unreadable("there is no counter at \(counter)")
    }
    if let input, input.utf8.count > Signal.Mark.maximumSize {
      throw Unreadable("a key of \(input.utf8.count) bytes; at most \(Signal.Mark.maximumSize)")
    }
    // Several gateways publish the press of one remote, each on its own topic, also for several
    // panels. The messages of a remote may have a counter for each of its buttons.
    let mark =
      if let remote = Dialect.remote(on: filter) {
        Signal.Mark(
          .remoteCounter(remote), key: "\(action?.description ?? "") \(input ?? "")", value: count)
      } else {
        Signal.Mark(.counter, key: input ?? "", value: count)
      }
    return Signal(presses: [press], mark: mark)
  }

  private func press(_ word: String?, of input: String? = nil) throws(Unreadable) -> Signal.Press {
    guard let word else { throw Unreadable("the text is not valid UTF-8") }
    return Signal.Press(input: input, words: [word.filter { !$0.isNewline }])
  }
}
