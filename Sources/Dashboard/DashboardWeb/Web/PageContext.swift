import Fleet
import Hummingbird
import JuiceDomain
import NIOCore

/// What is known of the visitor who asks for a page.
struct PageContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The address of the other end of the connection: the visitor's, or that of a proxy in between.
  let peer: String
  /// The visitor's address, as far as it is known.
  var address: String
  /// The browser's, from its cookie; a browser without one gets a new one.
  var sessionToken = ""
  /// `nil`: not logged in.
  var user: User?
  var language = Language.english
  /// What a form must bring back.
  var csrfToken = ""
  /// The path and query of this page.
  var requestTarget = "/"
  /// Whether there is an archive.
  var hasChain = false

  init(source: Source) {
    coreContext = CoreRequestContextStorage(source: source)
    peer = source.channel.remoteAddress?.ipAddress ?? ""
    address = peer
  }

  var isOperator: Bool { user?.role == .operator }

  /// The kiosk that the path names.
  func kioskID() throws(RequestError) -> KioskID {
    guard let id = coreContext.parameters.get("kiosk").flatMap({ KioskID($0) }) else {
      throw .notFound
    }
    return id
  }
}

extension PageContext {
  /// The route that the path names.
  func routeID() throws(RequestError) -> Route.ID {
    guard let id = coreContext.parameters.get("route").flatMap({ Route.ID($0) }) else {
      throw .notFound
    }
    return id
  }
}

/// Why a request is refused.
enum RequestError: Error {
  case notFound
  /// Not logged in any more.
  case loggedOut
  /// A viewer, who may only look.
  case notAllowed
  /// A form that is not from a page of ours, or from one that is too old.
  case forged
  /// A form with values that no page of ours sends.
  case badForm
  case tooManyLogins(Duration)
  /// So many people log in at once that one more would have to wait for too long.
  case busy
  case tooManyPages
}
