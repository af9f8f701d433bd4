import JuiceDomain
import KioskProtocol

extension Discovery {
  var entities: [Entity] {
    var all = menu.fruits.flatMap { entities(of: $0.id, $0.name) }
    all += menu.juices.flatMap { self.entities(of: $0.id, $0.name) }
    all += machines.flatMap { self.entities(of: $0) }
    all += programs.flatMap { self.entities(of: $0) }
    all += paymentDevices.flatMap { self.entities(of: $0) }
    all += sensors.sorted { $0.key < $1.key }.flatMap { self.entities(of: $0.key, $0.value) }
    if hasDates { all += menu.fruits.map { expiry(of: $0.id, $0.name) } + [expired] }
    return all + [service, orders] + [refill].compactMap(\.self) + diagnostics
  }

  /// The entities that the kiosk may have had before and does not have now: those of fruits, juices,
  /// machines, programs, payment devices and sensors that are no longer configured, and those that
  /// need a price, a capacity or a date.
  var formerEntities: [Entity] {
    func recorded<Thing>(_ topic: (Identifier<Thing>) -> String) -> [Identifier<Thing>] {
      retainedTopics.compactMap { retained in
        Identifier<Thing>(retained.split(separator: "/").last ?? "")
          .flatMap { topic($0) == retained ? $0 : nil }
      }.sorted()
    }
    let fruits = recorded(topics.stock(of:))
    let juices = recorded(topics.servings(of:))
    var former = self
    former.capacities = FruitAmounts(fruits.map { (fruit: $0, amount: 1) })
    var all = fruits.flatMap { former.entities(of: $0, LocalizedName(fallback: $0.text)) }
    all += juices.flatMap { former.entities(of: $0, LocalizedName(fallback: $0.text)) }
    let dated: [Fruit.ID] = recorded(topics.freshness)
    all += dated.map { expiry(of: $0, LocalizedName(fallback: $0.text)) }
    if !dated.isEmpty { all.append(expired) }
    let machines: [MachineID] = recorded(topics.report)
    for machine in machines {
      all += self.entities(of: machine)
      all += MachineProgram.allCases.flatMap {
        self.entities(of: ProgramID(machine: machine, program: $0))
      }
    }
    for device in recorded(topics.payment) {
      all += self.entities(of: device)
      all.append(Entity(.sensor, "taken_\(device)", "") { _ in })
    }
    all += recorded(topics.sensor).flatMap { self.entities(of: $0, .celsius) }
    if !retainedTopics.isEmpty { all.append(Entity(.button, "refill", "") { _ in }) }
    var listed = Set(entities.map(\.id))
    return all.filter { listed.insert($0.id).inserted }
  }

  // MARK: Fruits

  private func entities(of fruit: Fruit.ID, _ localizedName: LocalizedName) -> [Entity] {
    let name = localizedName[language]
    let topic = topics.stock(of: fruit)
    let stock = Entity(.sensor, "stock_\(fruit)", text("\(name) stock", "\(name) 재고")) { json in
      json.member("state_topic", topic)
      json.member("state_class", "measurement")
      json.member("icon", "mdi:fruit-cherries")
    }
    let alert = Entity(.binarySensor, "alert_\(fruit)", text("\(name) low", "\(name) 부족")) {
      json in
      json.member("state_topic", topics.alert(for: fruit))
      json.member("value_template", "{{ 'OFF' if value == '\(StockAlert.ok.rawValue)' else 'ON' }}")
      json.member("device_class", "problem")
    }
    return [stock, alert] + [setting(of: fruit, name, topic: topic)].compactMap(\.self)
  }

  private func expiry(of fruit: Fruit.ID, _ localizedName: LocalizedName) -> Entity {
    let name = localizedName[language]
    let topic = topics.freshness(of: fruit)
    return Entity(
      .sensor, "expires_\(fruit)", text("\(name) expires", "\(name) 유통기한"),
      if: (topic, "'T' in value")
    ) { json in
      json.member("state_topic", topic)
      json.time("value if 'T' in value else none")
    }
  }

  /// The entity that reports a problem while expired fruit has not been taken out.
  private var expired: Entity {
    Entity(.binarySensor, "expired", text("Expired fruit", "유통기한 지난 과일")) { json in
      json.member("state_topic", topics.stock)
      json.value("'ON' if value_json.expired | default({}) else 'OFF'")
      json.attributes(from: topics.stock, "'fruits': value_json.expired | default({})")
      json.member("device_class", "problem")
    }
  }

  /// Returns the number entity that sets the stock of a fruit, or `nil` if its capacity is 0 or
  /// unknown: Home Assistant accepts no number whose maximum is 0.
  private func setting(of fruit: Fruit.ID, _ name: String, topic: String) -> Entity? {
    guard let capacity = capacities[fruit], capacity > 0 else { return nil }
    // Home Assistant logs an error for each state above the maximum. The stock may be above the
    // capacity, after a reduction of the capacity or a return of fruit. Until the next discovery
    // message, the number then shows the maximum.
    let maximum = max(capacity, stock[fruit] ?? 0)
    return Entity(.number, "set_\(fruit)", text("Set \(name) stock", "\(name) 재고 수정")) { json in
      json.member("state_topic", topic)
      json.commands(to: restockTopic)
      json.member(
        "command_template", Entity.command(#""set":{"\#(fruit)":{{ value | int }}}"#))
      json.member("min", 0)
      json.member("max", maximum)
      json.member("value_template", "{{ [value | int(0), \(maximum)] | min }}")
      json.member("mode", "box")
      json.member("icon", "mdi:basket-fill")
    }
  }

  /// The button that sets every fruit to its capacity, or `nil` if its command would be too large.
  private var refill: Entity? {
    let command = Request(command: .restock(Restock(set: capacities)))
    // The template adds at most 128 bytes: the id, the time, and the braces that `members` lacks.
    guard command.payload.count + 128 <= Request.maximumPayload else { return nil }
    let members = String(decoding: command.payload.dropFirst().dropLast(), as: UTF8.self)
    return Entity(.button, "refill", text("Refill everything", "재고 모두 채우기")) { json in
      json.commands(to: restockTopic)
      json.member("command_template", Entity.command(members))
      json.member("icon", "mdi:basket-fill")
    }
  }

  private var restockTopic: String {
    topics.command(from: Source(kind: .restock, name: account))
  }

  // MARK: Juices

  private func entities(of juice: Juice.ID, _ localizedName: LocalizedName) -> [Entity] {
    let name = localizedName[language]
    return [
      Entity(.button, "order_\(juice)", text("Order \(name)", "\(name) 주문")) { json in
        json.commands(to: topics.command(from: Source(kind: .order, name: account)))
        json.member("command_template", Entity.command(#""juice":"\#(juice)""#))
        json.member("icon", "mdi:cup")
      },
      Entity(.sensor, "servings_\(juice)", text("\(name) servings", "\(name) 가능 수량")) { json in
        json.member("state_topic", topics.servings(of: juice))
        json.member("state_class", "measurement")
        json.member("icon", "mdi:cup")
      },
    ]
  }

  // MARK: Programs of machines

  private func entities(of id: ProgramID) -> [Entity] {
    let (program, machine) = (id.program.rawValue, id.machine)
    let name =
      switch id.program {
      case .clean: text("\(machine) cleaning", "\(machine) 세척")
      case .rinse: text("\(machine) rinsing", "\(machine) 헹굼")
      case .prime: text("\(machine) priming", "\(machine) 채우기")
      }
    let request = Request(command: .program(id))
    let members = String(decoding: request.payload.dropFirst().dropLast(), as: UTF8.self)
    let topic = topics.report(of: machine)
    let due =
      "(value_json.programs | default([]) | selectattr('program', 'eq', '\(program)')"
      + " | map(attribute='due_at', default=none) | first | default(none))"
    return [
      Entity(.button, "\(program)_\(machine)", name) { json in
        json.commands(to: topics.command(from: Source(kind: .program, name: account)))
        json.member("command_template", Entity.command(members))
        json.member("icon", "mdi:water-sync")
      },
      Entity(
        .sensor, "\(program)_due_\(machine)", text("\(name) due", "\(name) 예정"),
        if: (topic, "value_json is defined and \(due)")
      ) { json in
        json.member("state_topic", topic)
        json.time("\(due) if value_json is defined else none")
      },
    ]
  }

  // MARK: Machines

  private func entities(of machine: MachineID) -> [Entity] {
    let topic = topics.report(of: machine)
    return [
      Entity(.sensor, "machine_\(machine)", text("Machine \(machine)", "기계 \(machine)")) { json in
        json.member("state_topic", topic)
        json.value("value_json.state")
        json.member("device_class", "enum")
        json.member("icon", "mdi:blender")
      },
      Entity(.sensor, "queue_\(machine)", text("\(machine) queue", "\(machine) 대기")) { json in
        json.member("state_topic", topic)
        json.value("value_json.queue")
        json.member("state_class", "measurement")
        json.member("icon", "mdi:tray-full")
      },
      Entity(
        .binarySensor, "problem_\(machine)", text("\(machine) problem", "\(machine) 문제")
      ) { json in
        json.member("state_topic", topic)
        json.value(
          "'OFF' if value_json.state in ['idle', 'busy', 'waiting', 'cleaning']"
            + " and not (\(Self.needsDecision)) else 'ON'")
        json.attributes(
          from: topic,
          "'status': value_json.state, 'reason': value_json.reason | default(''),"
            + " 'waiting_for_decision': \(Self.needsDecision)")
        json.member("device_class", "problem")
      },
    ]
  }

  /// The Jinja expression for the tickets of the jobs that need the decision of a person.
  private static let needsDecision =
    "value_json.jobs | selectattr('state', 'in', ['lost', 'needs_decision'])"
    + " | map(attribute='ticket') | list"

  // MARK: Sensors

  private func entities(of sensor: SensorID, _ unit: SensorUnit) -> [Entity] {
    let topic = topics.sensor(sensor)
    return [
      Entity(.sensor, "sensor_\(sensor)", text("Sensor \(sensor)", "센서 \(sensor)")) { json in
        json.member("state_topic", topic)
        json.value("value_json.value | default(none)")
        json.member("unit_of_measurement", unit == .milliliters ? "mL" : unit.rawValue)
        let type =
          switch unit {
          case .celsius: "temperature"
          case .milliliters: "volume_storage"
          case .grams: "weight"
          case .seconds: "duration"
          }
        json.member("device_class", type)
        json.member("state_class", "measurement")
      },
      Entity(
        .binarySensor, "sensor_problem_\(sensor)", text("\(sensor) alarm", "\(sensor) 경보")
      ) { json in
        json.member("state_topic", topic)
        json.value(
          "'ON' if value_json.state in ['alarm', 'blocked'] or value_json.silent else 'OFF'")
        json.attributes(
          from: topic,
          "'status': value_json.state, 'silent': value_json.silent,"
            + " 'fruits': value_json.fruits | default([])")
        json.member("device_class", "problem")
      },
    ]
  }

  // MARK: Payment

  private func entities(of device: PaymentDeviceID) -> [Entity] {
    let topic = topics.payment(at: device)
    let state = Entity(.sensor, "payment_\(device)", text("Payment \(device)", "결제 \(device)")) {
      json in
      json.member("state_topic", topic)
      json.value("value_json.state")
      json.member("device_class", "enum")
      json.member("icon", "mdi:contactless-payment")
    }
    let waiting = Entity(
      .sensor, "charges_\(device)",
      text("\(device) charges for a person", "\(device) 확인할 결제")
    ) { json in
      json.member("state_topic", topic)
      json.value("value_json.charges | count")
      json.member("state_class", "measurement")
      json.member("icon", "mdi:account-question")
    }
    let problem = Entity(
      .binarySensor, "payment_problem_\(device)", text("\(device) problem", "\(device) 문제")
    ) { json in
      json.member("state_topic", topic)
      json.value("'ON' if value_json.state == 'off' or value_json.charges else 'OFF'")
      json.attributes(
        from: topic,
        "'status': value_json.state, 'reason': value_json.reason | default(''),"
          + " 'waiting_for_decision': value_json.charges | map(attribute='charge') | list,"
          + " 'difference': value_json.difference")
      json.member("device_class", "problem")
    }
    return [state, waiting, problem] + [taken(at: device, topic)].compactMap(\.self)
  }

  /// Returns the entity for the money taken since the device's last total, or `nil` if no juice has a
  /// price.
  private func taken(at device: PaymentDeviceID, _ topic: String) -> Entity? {
    guard let currency = menu.juices.lazy.compactMap(\.price?.currency).first else { return nil }
    let units = "1" + String(repeating: "0", count: Int(currency.decimals))
    return Entity(.sensor, "taken_\(device)", text("\(device) taken", "\(device) 매출")) { json in
      json.member("state_topic", topic)
      json.value(
        "((value_json.captured | default(0)) - (value_json.refunded | default(0))) / \(units)")
      json.member("device_class", "monetary")
      json.member("unit_of_measurement", currency.code)
    }
  }

  // MARK: The kiosk

  private var service: Entity {
    Entity(.switch, "service", text("Open", "영업")) { json in
      json.member("state_topic", topics.service)
      json.commands(to: topics.command(from: Source(kind: .service, name: account)))
      json.member("payload_on", ServiceState.open.rawValue)
      json.member("payload_off", ServiceState.closed.rawValue)
      json.member("icon", "mdi:store")
    }
  }

  /// The entity for the entries about orders and their payment. It ignores entries without a juice.
  private var orders: Entity {
    Entity(.event, "order", text("Order", "주문")) { json in
      json.member("state_topic", topics.events)
      json.member(
        "value_template",
        "{% if value_json.juice is defined %}"
          + "{{ dict(value_json, event_type=value_json.status) | to_json }}{% endif %}")
      let types: [LedgerEntry.Status] = [
        .ready, .outOfStock, .rejected, .accepted, .made, .failed, .returned, .awaitingPayment,
        .held, .captured, .released, .refunded, .capture, .release, .refund, .kept, .paidBack,
        .writtenOff,
      ]
      json.member("event_types", types.map(\.rawValue))
      json.member("icon", "mdi:cup")
    }
  }

  // MARK: Diagnostics

  private var diagnostics: [Entity] {
    let counters = [
      ("orders", text("Orders made", "완료된 주문")),
      ("out_of_stock", text("Orders out of stock", "재료가 모자란 주문")),
      ("failed", text("Orders that failed", "실패한 주문")),
      ("restocks", text("Restocks", "재고 수정 횟수")),
      ("duplicates", text("Duplicates", "중복된 명령")),
      ("stale", text("Stale commands", "늦게 도착한 명령")),
      ("rejected", text("Rejected commands", "거절된 명령")),
      ("reconnects", text("Reconnects", "재연결 횟수")),
      ("dropped", text("Dropped messages", "버려진 메시지")),
    ]
    let started = diagnostic("started_at", text("Started", "시작 시각"), from: topics.info) { json in
      json.member("device_class", "timestamp")
    }
    let memory = diagnostic("memory", text("Memory", "메모리"), from: topics.health) { json in
      json.member("device_class", "data_size")
      json.member("unit_of_measurement", "B")
      json.member("state_class", "measurement")
    }
    let queue = diagnostic("queue", text("Queue", "대기 중인 메시지"), from: topics.health) { json in
      json.member("state_class", "measurement")
    }
    return counters.map { key, name in
      diagnostic(key, name, from: topics.health) { json in
        json.member("state_class", "total_increasing")
      }
    } + [started, memory, queue]
  }

  /// Returns a diagnostic entity.
  ///
  /// - Parameter key: The name of the member in the messages on `topic`.
  private func diagnostic(
    _ key: String, _ name: String, from topic: String, write: @escaping (inout JSONWriter) -> Void
  ) -> Entity {
    Entity(.sensor, "diagnostic_\(key)", name) { json in
      json.member("state_topic", topic)
      // Not every system reports the memory. Home Assistant ignores an empty value.
      json.member("value_template", "{{ value_json.\(key) | default('') }}")
      json.member("entity_category", "diagnostic")
      write(&json)
    }
  }
}

extension JSONWriter {
  /// Writes the template of a state that is read from JSON; the state is `none` for an empty
  /// payload. The kiosk publishes an empty payload for an entity that is no longer configured, and
  /// Home Assistant evaluates the template before it removes the entity.
  fileprivate mutating func value(_ expression: String) {
    member("value_template", "{{ (\(expression)) if value_json is defined else none }}")
  }

  /// Writes the template of a time. Home Assistant logs a warning for a text that is no time. So an
  /// entity without a time gets a time in 1970, and its condition makes the entity unavailable.
  fileprivate mutating func time(_ expression: String) {
    member("value_template", "{{ (\(expression)) or '1970-01-01T00:00:00Z' }}")
    member("device_class", "timestamp")
  }

  /// Writes the template of attributes, which are members of a JSON object. Home Assistant drops
  /// attributes with the name of a property of the entity, such as `state` and `name`.
  fileprivate mutating func attributes(from topic: String, _ members: String) {
    member("json_attributes_topic", topic)
    member(
      "json_attributes_template",
      "{{ ({\(members)} if value_json is defined else {}) | to_json }}")
  }
}
