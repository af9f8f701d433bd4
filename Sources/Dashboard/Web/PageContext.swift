import Fleet
import Hummingbird
import JuiceDomain
import NIOCore

/// What is known of whoever asks for a page.
struct PageContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// Of the other end of the connection; the visitor's own only without a proxy in between.
  let peer: String
  var address: String
  /// From the cookie; made anew for a browser that has none.
  var token = ""
  /// `nil`: not logged in.
  var user: User?
  var language = Language.english
  /// What a form must bring back.
  var proof = ""
  /// The path and query of this page.
  var place = "/"
  /// There is an archive to be asked.
  var hasChain = false

  init(source: Source) {
    coreContext = CoreRequestContextStorage(source: source)
    peer = source.channel.remoteAddress?.ipAddress ?? ""
    address = peer
  }

  var isOperator: Bool { user?.role == .operator }

  /// The kiosk that the path names.
  func kioskID() throws(Refusal) -> KioskID {
    guard let id = coreContext.parameters.get("kiosk").flatMap({ KioskID($0) }) else {
      throw .notFound
    }
    return id
  }
}

extension PageContext {
  /// The round that the path names.
  func roundID() throws(Refusal) -> Round.ID {
    guard let id = coreContext.parameters.get("round").flatMap({ Round.ID($0) }) else {
      throw .notFound
    }
    return id
  }
}

/// Why a request is not answered as it was meant.
enum Refusal: Error {
  case notFound
  /// Not logged in any more.
  case loggedOut
  /// A viewer, who may only look.
  case notAllowed
  /// A form that is not from a page of ours, or from one that is too old.
  case forged
  /// A form that says something that none of ours can say.
  case badForm
  case tooManyLogins(Duration)
  /// So many log in at once that one more would have to wait for too long.
  case busy
  case tooManyPages
}
