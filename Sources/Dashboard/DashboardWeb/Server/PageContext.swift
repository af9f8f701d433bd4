import Fleet
import Hummingbird
import JuiceDomain
import NIOCore

/// The context of a request: the visitor, the session and the language.
struct PageContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  /// The address of the peer of the connection: the visitor or a proxy.
  let peer: String
  /// The visitor's address: `peer`, or behind a proxy the last address in `X-Forwarded-For`.
  var address: String
  /// The session token from the browser's cookie; a browser without the cookie gets a new token.
  var sessionToken = ""
  /// The logged-in user, or `nil`.
  var user: User?
  /// The kiosks of the user's regions in the archive's list; empty for a user without regions.
  var listedKiosks: Set<KioskID> = []
  /// Whether kiosks are missing because the archive has not answered.
  var lacksKiosks = false
  var language = Language.english
  /// The token that a form on the page has to contain.
  var csrfToken = ""
  /// The values in the query of the page's address, which fill in the form of the page.
  var filled = Form("")
  /// The form that was sent, or the reason why it cannot be read.
  var sent = Result<Form, any Error>.success(Form(""))
  /// The path and query of this page; if a form was sent, those of the page that contains the form.
  var requestTarget = "/"
  /// The path of the kiosk's page that a reload of an answer loads, or `nil` if no form of a kiosk was sent.
  var reloadPath: String?
  /// The problem of the file of users, or `nil` if there is none or the visitor is no operator.
  var usersProblem: String?
  /// The reason why no user can log in, or `nil` if one can.
  var loginProblem: String?
  /// Whether the dashboard has the archive of a chain.
  var hasChain = false
  /// The path that precedes the path of each page in the browser.
  var basePath = BasePath.none
  /// The address of this server for the browser, such as `https://juice.example.com`; empty if it is
  /// unknown. A forged one changes only the links on the forger's own page.
  var origin = ""
  /// Whether Home Assistant's ingress shows the pages in a frame.
  var isIngress = false
  /// Whether the browser connects by HTTPS; if so, cookies are restricted to HTTPS.
  var isSecure = false

  init(source: Source) {
    coreContext = CoreRequestContextStorage(source: source)
    peer = source.channel.remoteAddress?.ipAddress ?? ""
    address = peer
  }

  var isOperator: Bool { user?.isOperator ?? false }
  var canReport: Bool { user?.canReport ?? false }
  var isAdmin: Bool { user?.isAdmin ?? false }

  /// Returns the kiosk that the path names.
  func kioskID() throws(RequestError) -> KioskID {
    guard let id = coreContext.parameters.get("kiosk").flatMap({ KioskID($0) }) else {
      throw .notFound
    }
    return id
  }
}

extension PageContext {
  /// Returns the route that the path names.
  func routeID() throws(RequestError) -> Route.ID {
    guard let id = coreContext.parameters.get("route").flatMap({ Route.ID($0) }) else {
      throw .notFound
    }
    return id
  }
}

/// The reason why a request is rejected.
enum RequestError: Error {
  case notFound
  /// The region of a kiosk of the route is unknown. The browser of the route sends its reports later.
  case unknownKiosk
  /// The link for a password was used, replaced or has expired.
  case linkUsed
  /// The user is not logged in, or the session has ended.
  case loggedOut
  /// A viewer may not send this form.
  case notAllowed
  /// The page is not for the role of the user.
  case notVisible
  /// The form has no valid CSRF token: it comes from another site, or from a page of an ended
  /// session.
  case forged(Form)
  /// The command of the form was not sent, because the broker is not connected.
  case notSent(Form)
  /// The body of the request did not arrive completely, or is malformed.
  case incomplete
  /// The form lacks a required value, or contains an invalid one.
  case badForm
  /// A text in the form is no whole number, or one with a magnitude above 1,000,000,000.
  case badNumber(Form, String)
  /// A date in the form is not of the form `2026-12-05` or `2026-12-05T18:00`.
  case badDate
  /// The first day of the period is after its last day.
  case reversedPeriod
  /// The page is for administrators.
  case onlyAdmins
  /// Too many passwords were wrong. The next attempt is allowed after this time.
  case tooManyLogins(Duration)
  /// Too many passwords are being checked at the same time, or there is not enough memory.
  case busy
  /// Too many pages are updated live (in total, or of this session or user), or the server stops.
  case tooManyPages
  /// The library that writes workbooks is not installed.
  case noWorkbooks
  /// A workbook would have more than `WorkbookWriter.maximumRows` rows.
  case tableTooLong
}
