import Devices
import JuiceDomain
import KioskProtocol
import MessageBroker
import YAMLConfiguration

extension Format where Value == String {
  /// The name of a panel: one level of the kiosk's own topics.
  static let panelName = Format { scalar throws(Diagnostic) in
    let name = try text.read(scalar)
    if let flaw = Source(kind: .order, name: name).flaw { throw Diagnostic(flaw) }
    return name
  }

  /// Returns the format of a topic on which the kiosk publishes messages for a device, or the device
  /// its birth message.
  ///
  /// - Parameter base: The first levels of the kiosk's own topics. A message there would replace
  ///   the kiosk's state, or be a command to the kiosk.
  static func deviceTopic(outside base: String) -> Self {
    Format { scalar throws(Diagnostic) in
      let written = try topic.read(scalar)
      let own = TopicFilter(unchecked: "\(base)/#")
      guard !own.overlaps(TopicFilter(unchecked: written)) else {
        throw Diagnostic(
          "is one of the kiosk's own topics below \(base)", hint: "write the device's topic")
      }
      return written
    }
  }

  /// A topic, or a topic filter with wildcards (MQTT 4.7), that does not begin with `$`, of a size
  /// that the kiosk receives.
  static let topicFilter = Format { scalar throws(Diagnostic) in
    let filter = try text.read(scalar)
    let levels = filter.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for (index, level) in levels.enumerated() {
      let isWildcard = level.elementsEqual("+".utf8) || level.elementsEqual("#".utf8)
      guard isWildcard || !level.contains(where: "+#".utf8.contains) else {
        throw Diagnostic(
          "\(filter.quoted) has a wildcard inside a level", hint: "a wildcard is a level of its own"
        )
      }
      guard !level.elementsEqual("#".utf8) || index == levels.count - 1 else {
        throw Diagnostic("the wildcard '#' must be the last level")
      }
    }
    guard filter.utf8.first != UInt8(ascii: "$") else {
      throw Diagnostic("must not start with '$'", hint: "such topics belong to the broker")
    }
    let limits = MessageLimits.commands
    try checkSize(of: filter, bytes: limits.topic, levels: limits.topicLevels)
    return filter
  }
}

extension Format where Value == JSONPointer {
  static let jsonPointer = Format { scalar throws(Diagnostic) in
    let text = try scalar.string()
    guard let pointer = JSONPointer(text) else {
      throw Diagnostic(
        "\(text.quoted) is not a JSON pointer", hint: "write it like '/event/action'")
    }
    return pointer
  }
}

extension Format where Value == Juice.ID {
  static func juice(of menu: Menu) -> Self {
    Format { scalar throws(Diagnostic) in
      let text = try scalar.string()
      guard let juice = Juice.ID(text).flatMap(menu.juice) else {
        throw Diagnostic(
          "there is no juice \(text.quoted) on the menu",
          hint: Suggestion.hint(for: text, among: menu.juices.map(\.id.text)))
      }
      return juice.id
    }
  }
}

extension Format where Value == Template {
  /// Returns the format of a template whose placeholders name fruits and juices of the menu.
  ///
  /// - Parameters:
  ///   - devices: The payment devices whose text the template may use, or `nil` for none.
  ///   - isOfResult: Whether the template may use the result of an order.
  static func template(
    of menu: Menu, devices: [PaymentDeviceID]? = nil, isOfResult: Bool
  ) -> Self {
    Format { scalar throws(Diagnostic) in
      let text = try scalar.string()
      let template: Template
      do throws(TemplateError) { template = try Template(text) } catch {
        throw Diagnostic(
          "there is no placeholder \(error.placeholder.quoted)",
          hint:
            "known are {stock.FRUIT}, {servings.JUICE}, {alert.FRUIT}, {price.JUICE}, "
            + "{payment.DEVICE} and {kiosk.status}"
            + (isOfResult ? ", {juice}, {quantity}, {ticket} and {message}" : ""))
      }
      for placeholder in template.placeholders {
        let missing: String? =
          switch placeholder {
          case .stock(let fruit), .alert(let fruit):
            menu.fruits.contains { $0.id == fruit } ? nil : "fruit '\(fruit)'"
          case .servings(let juice), .price(let juice):
            menu.juice(juice) == nil ? "juice '\(juice)'" : nil
          case .payment(let device):
            if let devices {
              devices.contains(device) ? nil : "payment device '\(device)'"
            } else {
              "text of a payment device here" + (isOfResult ? ": use {message}" : "")
            }
          case .kioskStatus: nil
          case .juice, .quantity, .ticket, .message:
            isOfResult ? nil : "order here for {juice}, {quantity}, {ticket} and {message}"
          }
        if let missing { throw Diagnostic("there is no \(missing)") }
      }
      return template
    }
  }
}
