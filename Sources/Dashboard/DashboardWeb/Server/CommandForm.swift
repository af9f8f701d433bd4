import Fleet
import JuiceDomain
import KioskProtocol

/// The command that a form of a kiosk's page sends, with the texts for the kiosk's answers.
///
/// A form consists of hidden fields (`PageContext.commandForms(of:)`), and of buttons and fields
/// anywhere on the page, which live updates may replace:
///
/// ```swift
/// context.button(.job, "poured.142", "Poured")  // POST /kiosks/k1/job with decision=poured.142
/// ```
///
/// All forms are treated alike: without an answer, the page offers to send the same fields again with
/// the same id, so that the kiosk executes the command once; after a rejection, the page shows the
/// entered values again.
struct CommandForm {
  /// A form, named like the last component of its path.
  enum Kind: String, CaseIterable {
    case job, program, charge, sensor, service, remove, undo

    /// The field with the value of the pressed button.
    var field: String {
      switch self {
      case .job, .charge, .sensor: "decision"
      case .remove: "expired"
      case .program, .service, .undo: rawValue
      }
    }
  }

  /// The form lacks a value that the user has to enter.
  struct Incomplete: Error {
    let text: String
  }

  let command: Command
  /// The text of the button that sends the command again.
  let name: String
  /// The text after the kiosk has applied the command.
  let done: String
  /// The texts for the rejections that mean something particular for this command.
  var refusals: [RejectionReason: String] = [:]
  /// The id of the command, or `nil` for the id in the form.
  var id: CommandID?

  /// Returns the notice with the kiosk's answer.
  ///
  /// - Parameter again: The form that sends the same command again.
  func notice(
    _ result: CommandResult?, again: HTML, at kiosk: KioskState, _ language: Language
  ) -> HTML {
    let detail = language.detail(result?.detail, at: kiosk) ?? ""
    return switch (result?.status, result?.reason) {
    case (.applied, _), (.accepted, _): .notice(.good, done)
    // The kiosk has not executed this copy of the command, but may have executed an earlier one.
    case (nil, _), (_, .rateLimited), (_, nil): CommonNotices.noAnswer(language, again: again)
    case (_, let reason?):
      if let text = refusals[reason] {
        .notice(.warn, html: "\(text) <span class=\"muted\">\(detail)</span>")
      } else {
        CommonNotices.rejected(reason.text(language), detail, language)
      }
    }
  }
}

extension PageContext {
  /// Returns the hidden fields of all forms with commands; empty for a viewer.
  func commandForms(of kiosk: KioskID) -> HTML {
    let forms: [HTML] = CommandForm.Kind.allCases.map { form in
      """
      <form id="send-\(form.rawValue)" method="post" action="/kiosks/\(kiosk)/\(form.rawValue)">\
      \(fields(id: .random))</form>

      """
    }
    return isOperator ? "\(forms)" : .empty
  }

  /// Returns a button that sends a form.
  ///
  /// - Parameters:
  ///   - label: The name of the button for screen readers, or `nil` for its text.
  ///   - id: The id of the element, or `nil` for one that consists of `value`.
  func button(
    _ form: CommandForm.Kind, _ value: String, _ text: String, label: String? = nil,
    id: String? = nil, style: HTML? = nil
  ) -> HTML {
    """
    <button id="\(id ?? value.replacing(".", with: "-"))"\(style.map { " class=\"\($0)\"" as HTML }) \
    form="send-\(form.rawValue)" name="\(form.field)" value="\(value)"\
    \(label.map { " aria-label=\"\($0)\"" as HTML })>\(text)</button>

    """
  }

  /// Returns a form that sends the same fields again, also the same command id; not the time of a press,
  /// because this is another press.
  func again(_ form: Form, to path: String, _ name: String) -> HTML {
    let values: [HTML] = form.names("").filter { !["csrf_token", "at"].contains($0) }.map {
      .hidden($0, form[$0] ?? "")
    }
    return """
      <form class="actions" method="post" action="\(path)">\(fields())\(values)
      <button>\(language("Send again", "다시 보내기")): \(name)</button></form>
      """
  }
}

extension Form {
  /// The id of the command of the pressed button. The buttons of a form share the id in the form, and
  /// the kiosk executes only one command with an id.
  func commandID(_ kind: CommandForm.Kind) -> CommandID? {
    guard let id = commandID, let button = self[kind.field] else { return commandID }
    // A name can be too long for an id.
    return CommandID("\(id)-\(button.replacing(".", with: "-"))")
      ?? CommandID("\(id)-\(UserAdministration.hash(of: button).prefix(16))")
  }
}
