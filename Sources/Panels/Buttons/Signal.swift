package import KioskMessages

/// What one message of a device tells.
package struct Signal: Hashable, Sendable {
  /// Presses that the message reports, in its order.
  package let presses: [Press]
  /// By which the device's next message shows whether it is the same one again.
  package let mark: Mark?

  package init(presses: [Press] = [], mark: Mark? = nil) {
    // What a device does not name is no press.
    self.presses = presses.filter { !$0.names.isEmpty }
    self.mark = mark
  }

  /// A press of a button, in the words of the device and in ours.
  package struct Press: Hashable, Sendable {
    /// All names under which the press may be bound, the most exact first: `1_single`, `single`.
    /// In lower case.
    package let names: [String]
    /// What the device calls this press and no other; `nil` if it does not count.
    package let id: Request.ID?

    /// - Parameters:
    ///   - input: which button of the device; `nil` if it has one only.
    ///   - words: what was done to it, our word before the device's.
    init(input: String? = nil, words: [String], id: Request.ID? = nil) {
      self.init(inputs: input.map { [$0] } ?? [], words: words, id: id)
    }

    /// - Parameters:
    ///   - inputs: what the button is called, the most exact name first.
    ///   - wordsAlone: whether the press may be bound without saying of which button.
    init(inputs: [String], words: [String], wordsAlone: Bool = true, id: Request.ID? = nil) {
      let words = words.map { $0.lowercased() }.filter { !$0.isEmpty }
      names =
        inputs.flatMap { input in words.map { "\(input.lowercased())_\($0)" } }
        + (wordsAlone ? words : [])
      self.id = id
    }
  }

  /// The value of a counter, or the state of a contact. A message that leaves it as it was is not
  /// another press.
  package struct Mark: Hashable, Sendable {
    /// Which counter or contact of the device.
    package let key: String
    package let value: String
    package let kind: Kind

    package enum Kind: Sendable {
      case counter, contact
      /// The counter of a device that says its last event over and over, however old it is.
      case repeatedCounter
    }

    package init(_ kind: Kind, key: String, value: String) {
      self.kind = kind
      self.key = key
      self.value = value
    }
  }
}

/// Why a message of a device tells nothing, though it should.
package struct Unreadable: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
