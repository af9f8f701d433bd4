import Fleet
import JuiceDomain
import KioskProtocol

extension RoutePlan {
  /// Returns a plan with the arrival of this plan, and the length and the other members of another
  /// plan.
  func lasting(as other: RoutePlan) -> Self {
    let length = other.end.milliseconds - other.arrival.milliseconds
    return Self(
      arrival: arrival, end: Timestamp(milliseconds: arrival.milliseconds + length),
      margin: other.margin, fill: other.fill, stops: other.stops, van: other.van) ?? self
  }

  /// The reason why a form contains no valid plan.
  enum Problem: Error {
    case times, margin, stops, van, past, tooFar

    func text(_ language: Language) -> String {
      switch self {
      case .times:
        language(
          "The arrival must be before the time until which the fruit must last.",
          "도착 시각이 다음 방문보다 앞서야 해요.")
      case .margin:
        language(
          "The margin is a whole number from \(margins.lowerBound) to \(margins.upperBound).",
          "여유는 \(margins.lowerBound)~\(margins.upperBound) 사이의 정수예요.")
      case .stops:
        language(
          "The number of stops is from 1 to \(Route.maximumKiosks).",
          "방문지 수는 1~\(Route.maximumKiosks) 사이예요.")
      case .van:
        language(
          "What the van holds is a whole number from \(vans.lowerBound) to \(vans.upperBound), or empty.",
          "차에 실리는 과일은 \(vans.lowerBound)~\(vans.upperBound) 사이의 정수이거나 비워 두어야 해요.")
      case .past:
        language(
          "The arrival must not be before today, and the fruit must last until a time that is still to come.",
          "도착은 오늘이나 그 뒤, 다음 방문은 지금보다 뒤여야 해요.")
      case .tooFar:
        language("A route cannot be planned for more than 60 days.", "60일이 넘는 방문 경로는 계획할 수 없어요.")
      }
    }
  }

  init(_ form: Form, at now: Timestamp, _ localTime: LocalTime) throws(Problem) {
    guard let margin = form["margin"].flatMap({ Int($0) }), Self.margins.contains(margin) else {
      throw .margin
    }
    func number(_ name: String) -> Int? {
      form[name].flatMap { $0.isEmpty ? nil : Int($0) ?? 0 }
    }
    let (stops, van) = (number("stops") ?? Route.maximumKiosks, number("van"))
    guard (1...Route.maximumKiosks).contains(stops) else { throw .stops }
    guard van.map(Self.vans.contains) ?? true else { throw .van }
    guard let arrival = form["arrival"].flatMap(localTime.time(field:)),
      let end = form["until"].flatMap(localTime.time(field:)),
      let plan = Self(
        arrival: arrival, end: end, margin: margin,
        fill: form["fill"].flatMap(Fill.init(rawValue:)) ?? .capacity, stops: stops, van: van)
    else { throw .times }
    // A route whose trip began earlier today can still be planned.
    guard localTime.isToday(arrival) || arrival > now, end > now else { throw .past }
    let distances = [arrival, end].map { $0.since(now) }
    guard distances.allSatisfy({ abs($0 / .seconds(86_400)) <= 60 }) else { throw .tooFar }
    self = plan
  }

  /// Returns the default plan: from tomorrow at 08:00, for three days.
  static func usual(at now: Timestamp, _ localTime: LocalTime) -> Self {
    let day = Int64(86_400_000)
    func morning(after days: Int64) -> Timestamp {
      let later = Timestamp(milliseconds: now.milliseconds + days * day)
      return localTime.time(field: "\(localTime.field(later).prefix(10))T08:00") ?? later
    }
    let plan = Self(
      arrival: morning(after: 1), end: morning(after: 4), margin: 20, fill: .capacity)
    guard let plan else { preconditionFailure("three days later comes later") }
    return plan
  }
}
