import ArgumentParser
import CommandLineSupport
import KioskProtocol

/// One result of the doctor: the check, the place, the severity, and the action that fixes a
/// problem.
///
/// | severity | meaning | exit code |
/// |---|---|---|
/// | `ok` | as it should be | 0 |
/// | `note` | worth knowing, or a check that was not possible | 0 |
/// | `warning` | the kiosk works, but may lose orders or need manual work | 1 |
/// | `error` | the kiosk does not work, or not as configured | that of the first error |
struct Finding {
  /// The area of a check, roughly in the order in which the checks run.
  enum Check: String {
    case configuration, permissions, disk, clock, ledger
    case broker, rights, session, retained, machines, sensors, payment, uplink
  }

  enum Severity: Int, Comparable {
    /// The expected state.
    case ok
    /// A fact worth knowing, or a check that was not possible.
    case note
    /// The kiosk works, but may lose orders or need manual work.
    case warning
    /// The kiosk does not work, or not as configured.
    case error

    var name: String { "\(self)" }

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }

  let check: Check
  let severity: Severity
  /// The place to which the finding refers, for example a file with its line, a topic, or an
  /// address.
  let place: String
  let text: String
  /// The action that solves the problem, or `nil` if no action is necessary.
  let fix: String?
  /// The exit code of other commands that fail for the same reason; 0 unless this is an error.
  let status: ExitCode

  private init(
    _ check: Check, _ severity: Severity, _ place: String, _ text: String, _ fix: String?,
    _ status: ExitCode = .success
  ) {
    self.check = check
    self.severity = severity
    self.place = place.visible()
    self.text = text.visibleLines
    self.fix = fix?.visibleLines
    self.status = status
  }

  static func ok(_ check: Check, _ place: String, _ text: String) -> Finding {
    Finding(check, .ok, place, text, nil)
  }

  static func note(
    _ check: Check, _ place: String, _ text: String, fix: String? = nil
  ) -> Finding {
    Finding(check, .note, place, text, fix)
  }

  static func warning(
    _ check: Check, _ place: String, _ text: String, fix: String
  ) -> Finding {
    Finding(check, .warning, place, text, fix)
  }

  /// Creates an error.
  ///
  /// - Parameter status: The exit code, or `nil` for the usual one of the check.
  static func error(
    _ check: Check, _ place: String, _ text: String, fix: String, status: ExitCode? = nil
  ) -> Finding {
    let usual: ExitCode =
      switch check {
      case .broker, .session, .rights, .retained, .machines, .sensors, .payment, .uplink:
        ExitCode(69)
      case .disk: ExitCode(74)
      case .ledger: ExitCode(65)
      case .configuration, .permissions, .clock: ExitCode(78)
      }
    return Finding(check, .error, place, text, fix, status ?? usual)
  }
}

extension [Finding] {
  /// The exit code of the first error; without errors, 1 if there is a warning, otherwise 0.
  var status: ExitCode {
    if let error = first(where: { $0.severity == .error }) { return error.status }
    return contains { $0.severity == .warning } ? .failure : .success
  }

  var isGood: Bool { !contains { $0.severity == .error } }

  var worst: Finding.Severity { map(\.severity).max() ?? .ok }

  /// Returns the lines that the doctor prints.
  ///
  /// - Parameters:
  ///   - width: The width of the terminal in columns, or `nil` to break no line.
  ///   - color: Whether to use the terminal's colors.
  func lines(width: Int?, color: Bool) -> [String] {
    let indent = String(repeating: " ", count: 9)
    var lines: [String] = []
    for finding in self {
      let mark = finding.severity.name.padded(to: 8)
      let text = "\(finding.check.rawValue): \(finding.place): \(finding.text)"
      lines.append(
        "\(mark.painted(finding.severity.color, if: color)) "
          + text.wrapped(to: width, indent: indent))
      if let fix = finding.fix {
        lines.append(indent + "fix: \(fix)".wrapped(to: width, indent: indent))
      }
    }
    let counts = [Finding.Severity.error, .warning, .note].compactMap { severity -> String? in
      let count = count { $0.severity == severity }
      return count == 0 ? nil : "\(count) \(severity.name)\(count == 1 ? "" : "s")"
    }
    let summary = worst < .warning ? "The kiosk is healthy" : "The kiosk has problems"
    lines.append("\(summary)\(counts.isEmpty ? "" : ": " + counts.joined(separator: ", ")).")
    return lines
  }

  var payload: [UInt8] {
    JSONWriter.object { json in
      json.member("severity", worst.name)
      json.member("findings", self) { json, finding in
        json.member("check", finding.check.rawValue)
        json.member("severity", finding.severity.name)
        json.member("where", finding.place)
        json.member("what", finding.text)
        if let fix = finding.fix { json.member("fix", fix) }
      }
    }
  }
}

extension Finding.Severity {
  fileprivate var color: String.Color {
    switch self {
    case .ok, .note: .green
    case .warning: .yellow
    case .error: .red
    }
  }
}
