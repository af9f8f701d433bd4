import ArgumentParser
import KioskProtocol

struct Open: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Accept orders again.")

  @OptionGroup var request: RequestOptions

  func run() async throws { try await request.send(.service(.open), of: .service) }
}

struct Close: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Reject orders until the kiosk is opened again.")

  @OptionGroup var request: RequestOptions

  func run() async throws { try await request.send(.service(.closed), of: .service) }
}
