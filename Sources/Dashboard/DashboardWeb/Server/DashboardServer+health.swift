import CommandLineSupport
import HTTPTypes
import Hummingbird
import KioskProtocol

extension DashboardServer {
  /// Adds `/health`, which load balancers and monitors read without a login. It says whether the
  /// broker is connected and the files of the dashboard are usable, and nothing else.
  ///
  /// - Parameter router: The router without `SessionMiddleware`, so that the answer has no cookie.
  func addHealth(to router: Router<PageContext>) {
    router.get("health") { _, _ in
      let isConnected = link.connectionError == nil
      let folder = StateFolder(path: settings.stateFolder)
      let isStored = await activity.isStored
      let hasFiles =
        isStored && users.current.problem == nil && StateFiles.problem(writing: folder) == nil
      let body = JSONWriter.object { json in
        json.member("broker", isConnected)
        json.member("files", hasFiles)
      }
      return Response(
        status: isConnected && hasFiles ? .ok : .serviceUnavailable,
        headers: [.contentType: "application/json", .cacheControl: "no-store"],
        body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
  }
}
