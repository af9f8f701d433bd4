package import JuiceDomain
package import KioskProtocol

/// The messages that make a kiosk appear in Home Assistant (MQTT discovery).
///
/// Publish the messages retained, and publish them again after each `birth` message of Home
/// Assistant. If an entity with its own message is no longer configured, publish an empty payload
/// on the message's topic.
package struct Discovery: Sendable {
  package enum Form: Sendable {
    /// One message for each entity, for all versions of Home Assistant.
    case components
    /// One message for the whole device, for Home Assistant 2024.11 or later.
    case device
  }

  /// The prefix of discovery topics, as configured in Home Assistant.
  package var prefix: String
  package var form: Form
  /// The name of the account with which Home Assistant logs in to the broker, and the last level of
  /// the topics on which Home Assistant publishes commands.
  package var account: String
  package var topics: KioskTopics
  /// The display name of the kiosk, or `nil` for a name with the last level of the kiosk's topic.
  package var name: LocalizedName?
  package var language: Language
  package var menu: Menu
  package var capacities: FruitAmounts
  /// The stock, which may exceed the capacities.
  package var stock: FruitAmounts
  package var machines: [MachineID]
  package var programs: [ProgramID]
  package var paymentDevices: [PaymentDeviceID]
  package var sensors: [SensorID: SensorUnit]
  /// Whether the kiosk publishes expiry times: see `KioskTopics.freshness(of:)`.
  package var hasDates: Bool
  /// The retained topics of the kiosk, including those of entities that are no longer configured.
  package var retainedTopics: Set<String> = []
  /// The version of the kiosk's program.
  package var version: String

  package init(
    prefix: String = "homeassistant", form: Form = .components, account: String = "homeassistant",
    topics: KioskTopics, name: LocalizedName? = nil, language: Language, menu: Menu,
    capacities: FruitAmounts, stock: FruitAmounts = [:], machines: [MachineID] = [],
    programs: [ProgramID] = [], paymentDevices: [PaymentDeviceID] = [],
    sensors: [SensorID: SensorUnit] = [:], hasDates: Bool = false,
    retainedTopics: Set<String> = [], version: String
  ) {
    self.prefix = prefix
    self.form = form
    self.account = account
    self.topics = topics
    self.name = name
    self.language = language
    self.menu = menu
    self.capacities = capacities
    self.stock = stock
    self.machines = machines
    self.programs = programs
    self.paymentDevices = paymentDevices
    self.sensors = sensors
    self.hasDates = hasDates
    self.retainedTopics = retainedTopics
    self.version = version
  }

  /// The message that Home Assistant publishes when it has started.
  package var birth: (topic: String, payload: String) { ("\(prefix)/status", "online") }

  package var messages: [(topic: String, payload: [UInt8])] {
    switch form {
    case .components:
      entities.map { entity in
        let topic = "\(prefix)/\(entity.component.rawValue)/\(node)/\(entity.id)/config"
        let payload = JSONWriter.object { json in
          describe(entity, in: &json)
          describeDevice(in: &json)
        }
        return (topic, payload)
      }
    case .device:
      [("\(prefix)/device/\(node)/config", JSONWriter.object(describeAll))]
    }
  }

  private func describeAll(in json: inout JSONWriter) {
    describeDevice(in: &json)
    json.member("components") { json in
      for entity in entities {
        json.member(named: entity.id) { json in
          json.member("platform", entity.component.rawValue)
          describe(entity, in: &json)
        }
      }
      // Home Assistant keeps an entity that is no longer listed. A member with only the platform
      // removes the entity.
      for entity in formerEntities {
        json.member(named: entity.id) { $0.member("platform", entity.component.rawValue) }
      }
    }
  }

  /// The kiosk's topic as one level of a discovery topic, with `_` for each invalid character.
  private var node: String {
    String(
      topics.base.unicodeScalars.map { Identifier<Self>(String($0)) == nil ? "_" : Character($0) })
  }

  /// Writes the members that are the same for all entities.
  private func describeDevice(in json: inout JSONWriter) {
    json.member("device") { json in
      json.member("identifiers", [node])
      json.member(
        "name", name?[language] ?? text("Juice kiosk \(kiosk)", "쥬스 키오스크 \(kiosk)"))
      json.member("manufacturer", "Juice Kiosk")
      json.member("model", "juice-kiosk")
      json.member("sw_version", version)
    }
    json.member("origin") { json in
      json.member("name", "juice-kiosk")
      json.member("sw_version", version)
    }
  }

  private func describe(_ entity: Entity, in json: inout JSONWriter) {
    let id = "\(node)_\(entity.id)"
    json.member("name", entity.name)
    json.member("unique_id", id)
    // Home Assistant 2025.10 renamed `object_id` to `default_entity_id`.
    json.member("object_id", id)
    let entityID = id.lowercased().map { $0 == "-" ? "_" : $0 }
    json.member("default_entity_id", "\(entity.component.rawValue).\(String(entityID))")
    // `qos` is a member of each entity: Home Assistant 2024.12 accepts it for the whole device, but
    // ignores it there.
    json.member("qos", 1)
    // Home Assistant expects the payloads `online` and `offline`, unless a message names others.
    var conditions: [(topic: String, expression: String?)] = [(topics.status, nil)]
    if let (topic, expression) = entity.condition { conditions.append((topic, expression)) }
    json.member("availability", conditions) { json, condition in
      json.member("topic", condition.topic)
      if let expression = condition.expression {
        json.member("value_template", "{{ 'online' if \(expression) else 'offline' }}")
      }
    }
    json.member("availability_mode", "all")
    entity.write(&json)
  }

  private var kiosk: Substring { topics.base.split(separator: "/").last ?? "" }

  /// Returns the text in the kiosk's language.
  func text(_ english: String, _ korean: String) -> String {
    switch language {
    case .english: english
    case .korean: korean
    }
  }
}
