import CCurl
import Dispatch
import Synchronization

/// One request to a server by libcurl: the content to send, and the response.
struct Transfer: Sendable {
  /// The only scheme that libcurl may use; libcurl supports many.
  let scheme: String
  let url: String
  /// A PEM file of trusted certificates, or `nil` for those of the system.
  let caFile: String?
  let content: Content
  var username: String?
  var password: String?

  enum Content: Sendable {
    /// An e-mail to send by SMTP.
    ///
    /// - Parameters:
    ///   - mustEncrypt: Whether STARTTLS is required, for a scheme without TLS.
    ///   - helo: The name for EHLO, or `nil` for the fully qualified name of this computer.
    case mail(from: String, to: String, text: [UInt8], mustEncrypt: Bool, helo: String?)
    case post(body: [UInt8], headers: [String])
  }

  /// The texts that an error must not contain, although a server may repeat them: the long parts of the
  /// URL behind its host, the token and the password.
  private var secrets: [String] {
    let path = url.split(separator: "/").dropFirst(2)
      .flatMap { $0.split { "?&=:".contains($0) } }.map { String($0) }
    var tokens: [String] = []
    if case .post(_, let headers) = content {
      tokens = headers.filter { $0.hasPrefix("Authorization:") }
        .compactMap { $0.split(separator: " ").last.map { String($0) } }
    }
    return path.filter { $0.utf8.count > 8 } + tokens + [password].compactMap(\.self)
  }

  struct Response: Sendable {
    let code: CURLcode
    /// libcurl's description of the error.
    let problem: String
    /// The HTTP status (0 without a response), or `nil` for a mail.
    let status: Int?
    /// The server's text on one line: the reason for refusing a mail, or the beginning of the HTTP
    /// body.
    let responseText: String
  }

  /// Maximum time to connect, in seconds.
  private static let connectTimeout = 15
  /// Maximum time of the whole transfer, in seconds.
  private static let timeout = 60
  /// Maximum number of bytes read of a response. A longer response ends the transfer.
  private static let maximumResponse = 64 << 10

  /// Runs the transfer on a thread of its own, because libcurl blocks. After the task is cancelled,
  /// libcurl ends the transfer when `CancellationDeadline.grace` has passed.
  func run() async -> Response {
    let deadline = CancellationDeadline()
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        DispatchQueue(label: "transfer").async {
          continuation.resume(returning: perform(until: deadline))
        }
      }
    } onCancel: {
      deadline.start()
    }
  }

  private func perform(until deadline: CancellationDeadline) -> Response {
    // Initializes libcurl once per process. If that fails, the next call reports it.
    _ = Self.library
    guard let handle = curl_easy_init() else {
      return Response(
        code: CURLE_OUT_OF_MEMORY, problem: "no memory", status: nil, responseText: "")
    }
    defer { curl_easy_cleanup(handle) }
    var lists: [UnsafeMutablePointer<curl_slist>?] = []
    defer { for list in lists { curl_slist_free_all(list) } }
    func list(_ texts: [String]) -> UnsafeMutablePointer<curl_slist>? {
      let list = texts.reduce(nil) { curl_slist_append($0, $1) ?? $0 }
      lists.append(list)
      return list
    }

    curl_set_text(handle, CURLOPT_PROTOCOLS_STR, scheme)
    curl_set_text(handle, CURLOPT_URL, url)
    // Connects to this URL only, without redirects and without a proxy from the environment.
    curl_set_number(handle, CURLOPT_FOLLOWLOCATION, 0)
    curl_set_text(handle, CURLOPT_PROXY, "")
    // libcurl's signals would affect the whole process.
    curl_set_number(handle, CURLOPT_NOSIGNAL, 1)
    curl_set_number(handle, CURLOPT_CONNECTTIMEOUT, Self.connectTimeout)
    curl_set_number(handle, CURLOPT_TIMEOUT, Self.timeout)
    curl_set_number(handle, CURLOPT_SSL_VERIFYPEER, 1)
    curl_set_number(handle, CURLOPT_SSL_VERIFYHOST, 2)
    curl_set_number(handle, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    if let caFile { curl_set_text(handle, CURLOPT_CAINFO, caFile) }
    if let username { curl_set_text(handle, CURLOPT_USERNAME, username) }
    if let password { curl_set_text(handle, CURLOPT_PASSWORD, password) }

    let exchange = Exchange(limit: Self.maximumResponse)
    let isMail: Bool
    switch content {
    case .mail(let from, let to, let text, let mustEncrypt, let helo):
      isMail = true
      // libcurl sends the path of the URL as the name in EHLO.
      curl_set_text(handle, CURLOPT_URL, "\(url)/\(helo ?? HostName.qualified(orDomainOf: from))")
      exchange.rest = text[...]
      curl_set_number(handle, CURLOPT_USE_SSL, mustEncrypt ? curl_usessl_all : 0)
      curl_set_text(handle, CURLOPT_MAIL_FROM, "<\(from)>")
      curl_set_list(handle, CURLOPT_MAIL_RCPT, list(["<\(to)>"]))
      curl_set_number(handle, CURLOPT_UPLOAD, 1)
      curl_set_bytes_function(handle, CURLOPT_READFUNCTION) { bytes, size, count, context in
        Exchange.of(context).read(into: bytes, size * count)
      }
      curl_set_pointer(handle, CURLOPT_READDATA, exchange.context)
      // Receives the server's reply to each SMTP command.
      curl_set_bytes_function(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
        Exchange.of(context).receive(line: bytes, size * count)
      }
      curl_set_pointer(handle, CURLOPT_HEADERDATA, exchange.context)
    case .post(let body, let headers):
      isMail = false
      curl_set_number(handle, CURLOPT_POSTFIELDSIZE, body.count)
      body.withUnsafeBytes { body in
        _ = curl_set_pointer(
          handle, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: body.baseAddress))
      }
      // Sends the body without waiting for `100 Continue` (RFC 9110 10.1.1), because it is small.
      curl_set_list(handle, CURLOPT_HTTPHEADER, list(headers + ["Expect:"]))
    }
    curl_set_bytes_function(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
      Exchange.of(context).receive(bytes, size * count)
    }
    curl_set_pointer(handle, CURLOPT_WRITEDATA, exchange.context)
    curl_set_progress_function(handle) { context, _, _, _, _ in
      CancellationDeadline.of(context).hasPassed ? 1 : 0
    }
    curl_set_pointer(handle, CURLOPT_XFERINFODATA, deadline.context)
    curl_set_number(handle, CURLOPT_NOPROGRESS, 0)

    var problem = [CChar](repeating: 0, count: Int(CURL_ERROR_SIZE))
    let code = problem.withUnsafeMutableBufferPointer { problem in
      curl_set_pointer(handle, CURLOPT_ERRORBUFFER, problem.baseAddress)
      return curl_easy_perform(handle)
    }
    curl_set_pointer(handle, CURLOPT_ERRORBUFFER, nil)
    let errorText = String(
      decoding: problem.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    // guard: an error repeats no secret
    func visible(_ text: String) -> String { secrets.reduce(text) { $0.replacing($1, with: "…") } }
    return withExtendedLifetime((exchange, deadline)) {
      Response(
        code: code,
        problem: visible(
          errorText.isEmpty ? String(cString: curl_easy_strerror(code)) : errorText),
        status: isMail ? nil : curl_number(handle, CURLINFO_RESPONSE_CODE),
        // The limit comes last, so that it cuts no secret into a part that is not found.
        responseText: String(visible(exchange.responseText).prefix(200)))
    }
  }

  private static let library = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

/// The bytes to send and the bytes received. Only the thread of the transfer uses them.
private final class Exchange {
  var rest: ArraySlice<UInt8> = []
  private var answer: [UInt8] = []
  private let limit: Int
  private var count = 0

  init(limit: Int) { self.limit = limit }

  var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  static func of(_ context: UnsafeMutableRawPointer?) -> Exchange {
    Unmanaged.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
  }

  func read(into bytes: UnsafeMutablePointer<CChar>?, _ room: Int) -> Int {
    let part = rest.prefix(room)
    guard let bytes else { return 0 }
    UnsafeMutableRawBufferPointer(start: bytes, count: room).copyBytes(from: part)
    rest = rest.dropFirst(part.count)
    return part.count
  }

  /// Receives a part of the response.
  ///
  /// - Returns: `size`, or 0 to end the transfer.
  func receive(_ bytes: UnsafeMutablePointer<CChar>?, _ size: Int) -> Int {
    count += size
    guard count <= limit else { return 0 }
    answer += UnsafeRawBufferPointer(start: bytes, count: size).prefix(max(0, 4_096 - answer.count))
    return size
  }

  /// Receives a reply line of SMTP. Stores only the last line with an error code (4xx or 5xx, RFC
  /// 5321 4.2.1); the reply to QUIT does not replace it.
  func receive(line bytes: UnsafeMutablePointer<CChar>?, _ size: Int) -> Int {
    guard let first = bytes?.pointee, first == 0x34 || first == 0x35 else { return size }
    answer = []
    return receive(bytes, size)
  }

  var responseText: String {
    let text = String(decoding: answer, as: UTF8.self).unicodeScalars
    return String(String.UnicodeScalarView(text.map { $0.properties.isWhitespace ? " " : $0 }))
      .split(separator: " ").joined(separator: " ")
  }
}

/// The time at which a transfer ends after its task was cancelled.
private final class CancellationDeadline: Sendable {
  private let time = Mutex<ContinuousClock.Instant?>(nil)

  /// Time in which a cancelled transfer may still receive its response. If the transfer ended at
  /// once, a message that the server has already accepted might be sent again.
  private static let grace = Duration.seconds(3)

  var hasPassed: Bool { time.withLock { $0.map { $0 <= .now } ?? false } }

  func start() { time.withLock { $0 = .now + Self.grace } }

  var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  static func of(_ context: UnsafeMutableRawPointer?) -> CancellationDeadline {
    Unmanaged.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
  }
}
