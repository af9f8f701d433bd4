package import KioskProtocol

/// The content of one message of a device.
package struct Signal: Hashable, Sendable {
  /// The presses in the message, in its order.
  package let presses: [Press]
  /// The mark by which the kiosk recognizes a repeat of the message, or `nil` if there is none.
  package let mark: Mark?

  package init(presses: [Press] = [], mark: Mark? = nil) {
    // A press without a name cannot be bound.
    self.presses = presses.filter { !$0.names.isEmpty }
    self.mark = mark
  }

  /// A press of a button, named by the words of the device and of the kiosk.
  package struct Press: Hashable, Sendable {
    /// All names under which the press may be bound, in lower case, the most specific first:
    /// `1_single`, `single`.
    package let names: [String]
    /// The id of this press, or `nil` if the message identifies none.
    package let id: Request.ID?
    /// The minimum debounce of the press, regardless of the configuration.
    package var leastDebounce = Duration.zero

    /// The minimum debounce while a button is held. Meanwhile the device repeats its message, Hue
    /// every 0.8 s (Zigbee2MQTT #26270), and the radio may lose one of the repeats.
    static let debounceWhileHeld = Duration.seconds(2)

    /// Creates a press of a button with at most one name.
    ///
    /// - Parameters:
    ///   - input: The button of the device, or `nil` if the device has only one.
    ///   - words: The words for the action, the kiosk's before the device's.
    init(input: String? = nil, words: [String], id: Request.ID? = nil) {
      self.init(inputs: input.map { [$0] } ?? [], words: words, id: id)
    }

    /// Creates a press of a button with several names.
    ///
    /// - Parameters:
    ///   - inputs: The names of the button, the most specific first.
    ///   - wordsAlone: Whether the press may be bound without naming the button.
    init(inputs: [String], words: [String], wordsAlone: Bool = true, id: Request.ID? = nil) {
      let words = words.map { $0.lowercased() }.filter { !$0.isEmpty }
      names =
        inputs.flatMap { input in words.map { "\(input.lowercased())_\($0)" } }
        + (wordsAlone ? words : [])
      self.id = id
    }
  }

  /// The value of a counter, or the state of a contact. A message whose mark equals the last mark
  /// with the same key is no new press.
  package struct Mark: Hashable, Sendable {
    /// The name of the counter or contact, unique within the panel; of a `remoteCounter` unique
    /// within the remote. `PanelMessage.Mark` adds the name of the panel or remote as a prefix.
    package let key: String
    package let value: String
    package let kind: Kind

    /// The maximum number of bytes of a counter, and of the `key` of a `GenericFormat` with a counter.
    static let maximumSize = 64

    package enum Kind: Hashable, Sendable {
      /// A counter whose value is new for each press.
      case counter
      /// The counter of a radio remote that gateways of several panels may receive: its address,
      /// as `Dialect.remote` returns it.
      case remoteCounter(String)
      /// The state of a contact.
      case contact
      /// The start of a device that sleeps between presses: its contacts have opened while it
      /// slept, without a message.
      case start
      /// The counter of a device that repeats its last message at intervals without a time limit.
      case repeatedCounter
    }

    package init(_ kind: Kind, key: String, value: String) {
      self.kind = kind
      self.key = key
      self.value = value
    }
  }
}

/// An error in a device's message that may contain a press but cannot be read.
package struct Unreadable: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
