import CommandLineSupport
import Fleet
import JuiceDomain
import KioskProtocol

/// All routes, each in a file of its own. A change takes effect when it is stored on disk.
actor RouteStore {
  /// Maximum number of routes. A further route removes the first `replaceable` one.
  static let maximumRoutes = 200

  static let directory = "routes"

  private let folder: StateFolder
  private var routes: [Route.ID: Route]?
  /// The errors of the folder and of damaged files, whose copies are used.
  private(set) var problems: [StateError] = []

  private nonisolated let executor = DiskExecutor(label: "routes")
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(folder: StateFolder) { self.folder = folder }

  /// All routes, the latest first.
  var all: [Route] {
    loaded().values.sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }
  }

  subscript(id: Route.ID) -> Route? { loaded()[id] }

  /// Stores a new route, and removes the first `replaceable` routes above `maximumRoutes`. A route with
  /// the same id remains as it is.
  ///
  /// - Returns: `false` if the route is not stored, because too few others are over.
  @discardableResult
  func add(_ route: Route) throws(StateError) -> Bool {
    let others = loaded()
    // Two requests with one form may arrive at the same time.
    guard others[route.id] == nil else { return true }
    let excess = max(0, others.count + 1 - Self.maximumRoutes)
    let replaced = Self.replaceable(Array(others.values), by: route).prefix(excess)
    guard replaced.count == excess else { return false }
    try save(route)
    routes?[route.id] = route
    for other in replaced {
      try file(other.id.text).remove()
      routes?[other.id] = nil
    }
    return true
  }

  /// Returns the routes that may be removed for a new one: those that are over, the oldest first, but
  /// the latest of each name, which a user may plan again, last.
  private static func replaceable(_ routes: [Route], by new: Route) -> [Route] {
    let saved = Set(Route.saved(routes + [new]).map(\.id))
    func key(_ route: Route) -> (Int, Timestamp, Route.ID) {
      (saved.contains(route.id) ? 1 : 0, route.createdAt, route.id)
    }
    return routes.filter { $0.isOver(at: new.createdAt) }.sorted { key($0) < key($1) }
  }

  /// Removes a route.
  ///
  /// - Returns: `false` if the route remains because one of its stops is confirmed.
  func remove(_ id: Route.ID) throws(StateError) -> Bool {
    guard let route = loaded()[id] else { return true }
    guard !route.hasStarted else { return false }
    try file(id.text).remove()
    routes?[id] = nil
    return true
  }

  /// Changes a route and stores it.
  ///
  /// - Returns: `false` if the route does not exist.
  /// - Throws: `StateError` if the route is too large or cannot be written; the route in memory
  ///   remains unchanged.
  func change(_ id: Route.ID, _ change: (inout Route) -> Void) throws(StateError) -> Bool {
    guard var route = loaded()[id] else { return false }
    change(&route)
    try save(route)
    routes?[id] = route
    return true
  }

  /// Changes a stop, and stores the route if the stop is different.
  ///
  /// - Returns: The result of `change`, or `nil` if the stop does not exist.
  func update<Value>(
    _ id: Route.ID, _ kiosk: KioskID, _ change: (inout Route.Stop) -> Value
  ) throws(StateError) -> Value? {
    guard var route = loaded()[id], var stop = route[kiosk] else { return nil }
    let value = change(&stop)
    if route[kiosk] != stop {
      route[kiosk] = stop
      try save(route)
      routes?[id] = route
    }
    return value
  }

  private func save(_ route: Route) throws(StateError) {
    guard route.payload.count <= Route.maximumPayload else {
      throw StateError(route.id.text, "the route is too large: choose fewer kiosks")
    }
    try file(route.id.text).write(route)
  }

  private func loaded() -> [Route.ID: Route] {
    if let routes { return routes }
    var found: [Route.ID: Route] = [:]
    do throws(StateError) {
      for file in try Self.files(in: folder) {
        let (route, problem) = file.load()
        if let route { found[route.id] = route }
        if let problem { problems.append(problem) }
      }
    } catch {
      problems.append(error)
    }
    routes = found
    return found
  }

  /// Returns the files of all routes.
  static func files(in folder: StateFolder) throws(StateError) -> [StateFile<Route>] {
    let names = try Disk.names(in: folder.path(of: directory))
      .map { $0.hasSuffix(".good") ? String($0.dropLast(5)) : $0 }.filter { $0.hasSuffix(".json") }
    return Set(names).sorted().map { file(String($0.dropLast(5)), in: folder) }
  }

  private func file(_ id: String) -> StateFile<Route> { Self.file(id, in: folder) }

  /// Returns the file of the route with an id.
  private static func file(_ id: String, in folder: StateFolder) -> StateFile<Route> {
    StateFile(
      folder.path(of: "\(directory)/\(id).json"), upTo: Route.maximumPayload,
      makesFolder: true,
      withoutCopy: "the route is left out until you restore the file or remove it and its copy",
      encode: \.payload,
      decode: { payload in
        let route = try Route(payload: payload)
        guard route.id.text == id else { throw LineError(1, "contains another route") }
        return route
      })
  }
}

extension Route {
  /// Returns the latest route of each name, sorted by name.
  static func saved(_ routes: some Sequence<Route>) -> [Route] {
    var latest: [String: Route] = [:]
    for route in routes {
      guard let name = route.name else { continue }
      if let other = latest[name], other.createdAt >= route.createdAt { continue }
      latest[name] = route
    }
    return latest.values.sorted { ($0.name ?? "") < ($1.name ?? "") }
  }
}
