package import KioskProtocol

/// What one message of a device tells.
package struct Signal: Hashable, Sendable {
  /// Presses that the message reports, in its order.
  package let presses: [Press]
  /// The counter or the contact in the message, by which a repeated message is known.
  package let mark: Mark?

  package init(presses: [Press] = [], mark: Mark? = nil) {
    // A press without a name cannot be bound.
    self.presses = presses.filter { !$0.names.isEmpty }
    self.mark = mark
  }

  /// A press of a button, in the words of the device and in ours.
  package struct Press: Hashable, Sendable {
    /// All names under which the press may be bound, the most exact first: `1_single`, `single`.
    /// In lower case.
    package let names: [String]
    /// An id that the device gives to this press alone; `nil` if it gives none.
    package let id: Request.ID?

    /// - Parameters:
    ///   - input: which button of the device; `nil` if the device has only one.
    ///   - words: what was done to the button, our word before the device's.
    init(input: String? = nil, words: [String], id: Request.ID? = nil) {
      self.init(inputs: input.map { [$0] } ?? [], words: words, id: id)
    }

    /// - Parameters:
    ///   - inputs: the names of the button, the most exact one first.
    ///   - wordsAlone: whether the press may be bound without naming the button.
    init(inputs: [String], words: [String], wordsAlone: Bool = true, id: Request.ID? = nil) {
      let words = words.map { $0.lowercased() }.filter { !$0.isEmpty }
      names =
        inputs.flatMap { input in words.map { "\(input.lowercased())_\($0)" } }
        + (wordsAlone ? words : [])
      self.id = id
    }
  }

  /// The value of a counter, or the state of a contact. A message with the same mark is no new press.
  package struct Mark: Hashable, Sendable {
    /// Which counter or contact of the device.
    package let key: String
    package let value: String
    package let kind: Kind

    package enum Kind: Sendable {
      case counter, contact
      /// The counter of a device that repeats its last event over and over, however old that is.
      case repeatedCounter
    }

    package init(_ kind: Kind, key: String, value: String) {
      self.kind = kind
      self.key = key
      self.value = value
    }
  }
}

/// Why a message of a device cannot be read, though it may hold a press.
package struct Unreadable: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
