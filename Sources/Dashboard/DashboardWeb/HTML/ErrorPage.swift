import CommandLineSupport
import HTTPTypes
import Hummingbird
import JuiceDomain
import Logging
import Postgres

enum ErrorPage {
  static func response(to error: any Error, _ context: PageContext, logger: Logger) -> Response {
    switch error {
    case RequestError.loggedOut:
      guard context.requestTarget != "/" else {
        return LoginPage.page(context, to: "/").response(context)
      }
      return .redirect(to: "/login?to=\(context.requestTarget.percentEncoded)", type: .normal)
    case let refusal as RequestError:
      let (status, english, korean) = words(for: refusal)
      let text = context.language(english, korean)
      var response: Response
      if refusal.form != nil {
        let again = context.language("Open the form again", "양식 다시 열기")
        response = page(context, status, text, to: context.requestTarget, again).response(context)
      } else {
        response = page(context, status, text).response(context)
      }
      response.headers[.retryAfter] = refusal.wait.map { String($0) }
      return response
    case let chainError as ChainError:
      if case .database(let error) = chainError { logger.error("archive: \(error)") }
      let text = context.language(
        "The archive, which has the region of this kiosk, is not available. Try again in a minute.",
        "키오스크의 지역을 확인할 수 없어요. 잠시 뒤에 다시 시도해 주세요.")
      let again = context.language("Try again", "다시 시도")
      return page(context, .serviceUnavailable, text, to: context.requestTarget, again)
        .response(context)
    case let error as StateError:
      logger.error("\(error)")
      let text = context.language(
        "This cannot be saved, and nothing was sent: \(error)", "저장할 수 없어서 아무것도 보내지 않았어요: \(error)")
      return page(context, .serviceUnavailable, text).response(context)
    case let error as WorkbookError:
      logger.error("no workbook: \(error)")
      let text = context.language(
        "The file for Excel cannot be written: \(error). The CSV file has the same table.",
        "Excel 파일을 만들 수 없어요: \(error). CSV 파일에 같은 표가 있어요.")
      return page(context, .serviceUnavailable, text).response(context)
    case let error as any HTTPResponseError:
      let text = context.language(
        error.status == .notFound ? "There is no such page." : "This request cannot be processed.",
        error.status == .notFound ? "없는 페이지예요." : "처리할 수 없는 요청이에요.")
      return page(context, error.status, text).response(context)
    default:
      // The pattern of the path, because a path can contain a token, and a query what a user entered.
      logger.error("\(context.endpointPath ?? "unknown path"): \(error)")
      return page(
        context, .internalServerError, context.language("Something went wrong.", "문제가 생겼어요.")
      ).response(context)
    }
  }

  private static func page(
    _ context: PageContext, _ status: HTTPResponse.Status, _ text: String, to target: String = "/",
    _ name: String? = nil
  ) -> Page {
    Page(
      title: text,
      body: """
        <section class="card narrow">
        <h1>\(text)</h1>
        <p><a class="button" href="\(target)">\(name ?? context.language("To the kiosks", "키오스크 목록으로"))</a></p>
        </section>
        """, status: status)
  }

  private static func words(
    for refusal: RequestError
  ) -> (status: HTTPResponse.Status, english: String, korean: String) {
    switch refusal {
    case .notFound, .loggedOut: (.notFound, "There is no such page.", "없는 페이지예요.")
    case .linkUsed:
      (
        .gone, "This link was used, replaced, or has expired. An administrator makes a new one.",
        "이미 썼거나 바뀌었거나 만료된 링크예요. 관리자가 새 링크를 만들 수 있어요."
      )
    case .notAllowed:
      (.forbidden, "You can view this, but not change anything.", "보기 전용 계정이라 바꿀 수 없어요.")
    case .notVisible:
      (.forbidden, "Your account does not see this page.", "이 계정으로는 볼 수 없는 페이지예요.")
    case .onlyAdmins:
      (.forbidden, "Only an administrator sees this page.", "관리자만 볼 수 있는 페이지예요.")
    case .forged:
      (
        .forbidden, "This form is out of date, and nothing was sent.",
        "만료된 양식이라 아무것도 보내지 않았어요."
      )
    case .notSent:
      (
        .serviceUnavailable,
        "Nothing was sent: the dashboard is not connected to the kiosks at the moment.",
        "지금은 대시보드가 키오스크와 연결되어 있지 않아 아무것도 보내지 않았어요."
      )
    case .badForm, .incomplete: (.badRequest, "This form cannot be read.", "양식을 읽을 수 없어요.")
    case .badNumber(_, let text):
      (
        .badRequest,
        "Nothing was sent: “\(text)” is not a whole number from −1,000,000,000 to 1,000,000,000.",
        "아무것도 보내지 않았어요. −1,000,000,000부터 1,000,000,000까지의 정수로 적어 주세요: “\(text)”"
      )
    case .badDate:
      (
        .badRequest, "Nothing was sent. Go back, and write the date like 2026-12-05.",
        "아무것도 보내지 않았어요. 뒤로 가서 날짜를 2026-12-05처럼 적어 주세요."
      )
    case .reversedPeriod:
      (.badRequest, SalesPeriod.reversed.english, SalesPeriod.reversed.korean)
    case .tooManyLogins:
      (
        .tooManyRequests, "Too many wrong passwords. Wait a minute, then try again.",
        "비밀번호를 너무 많이 틀렸어요. 1분 뒤에 다시 시도해 주세요."
      )
    case .busy:
      (
        .serviceUnavailable, "Too many people are logging in. Try again in a few seconds.",
        "로그인하는 사람이 너무 많아요. 잠시 뒤에 다시 시도해 주세요."
      )
    case .unknownKiosk:
      (
        .serviceUnavailable,
        "The region of a kiosk on this route is not known yet. Try again in a minute. If the kiosk was removed, an administrator can plan the route again without it.",
        "이 방문 경로에 지역을 아직 알 수 없는 키오스크가 있어요. 잠시 뒤에 다시 시도해 주세요. 키오스크를 없앴다면 관리자가 그 키오스크 없이 경로를 다시 계획할 수 있어요."
      )
    case .tooManyPages:
      (
        .serviceUnavailable,
        "Too many pages are open. This one updates itself when others are closed.",
        "열려 있는 페이지가 너무 많아요. 다른 페이지를 닫으면 이 페이지가 다시 업데이트돼요."
      )
    case .noWorkbooks:
      (
        .notImplemented,
        "The computer of the dashboard has no libxlsxwriter: install libxlsxwriter4 or libxlsxwriter8, and restart the dashboard. The CSV file has the same table.",
        "대시보드 컴퓨터에 libxlsxwriter가 없어요. libxlsxwriter4나 libxlsxwriter8을 설치하고 대시보드를 다시 시작해 주세요. CSV 파일에 같은 표가 있어요."
      )
    case .tableTooLong:
      (
        .contentTooLarge,
        "The table has more than \(WorkbookWriter.maximumRows) rows: choose a shorter time, or the CSV file.",
        "표가 \(WorkbookWriter.maximumRows)행보다 길어요. 기간을 줄이거나 CSV 파일을 골라 주세요."
      )
    }
  }
}

extension RequestError {
  /// The form that was not processed and that the user may open again.
  var form: Form? {
    switch self {
    case .forged(let form), .notSent(let form), .badNumber(let form, _): form
    default: nil
    }
  }

  /// Seconds after which another attempt may succeed.
  fileprivate var wait: Int64? {
    switch self {
    case .tooManyLogins(let wait): wait.components.seconds + 1
    case .busy, .notSent: 5
    case .tooManyPages: 30
    default: nil
    }
  }
}
