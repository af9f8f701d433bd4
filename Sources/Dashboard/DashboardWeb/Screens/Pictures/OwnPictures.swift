import Foundation
import HTTPTypes
import Hummingbird
import JuiceDomain
import Logging

/// The owner's own pictures of juices: the files of a folder, read once at the start.
struct OwnPictures: Sendable {
  /// Maximum size of a file, in bytes, and maximum number of files.
  static let (maximumSize, maximumCount) = (200_000, 200)

  private var files: [Juice.Picture: [UInt8]] = [:]

  /// Reads the pictures of a folder. Skips files that are too large or cannot be read, and logs the
  /// reason; ignores files with other names.
  ///
  /// - Parameter folder: The path of the folder, or `nil` if there is none.
  init(folder: String?, logger: Logger) {
    guard let folder else { return }
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: folder)
    } catch {
      logger.warning("the pictures in \(folder) cannot be read: \(error.localizedDescription)")
      return
    }
    for picture in names.sorted().compactMap({ Juice.Picture($0) }) {
      guard files.count < Self.maximumCount else {
        logger.warning(
          "\(folder) has more than \(Self.maximumCount) pictures; the others are not shown")
        return
      }
      do {
        let handle = try FileHandle(forReadingFrom: URL(filePath: "\(folder)/\(picture)"))
        defer { try? handle.close() }
        let data = try handle.read(upToCount: Self.maximumSize + 1) ?? Data()
        guard data.count <= Self.maximumSize else {
          logger.warning("the picture \(picture) is larger than \(Self.maximumSize) bytes")
          continue
        }
        files[picture] = Array(data)
      } catch {
        logger.warning("the picture \(picture) cannot be read: \(error.localizedDescription)")
      }
    }
  }

  subscript(picture: Juice.Picture) -> [UInt8]? { files[picture] }

  var names: [String] { files.keys.map(\.description) }
}

extension DashboardServer {
  /// Adds the owner's own pictures, which need no login.
  ///
  /// - Parameter router: The group of the path `pictures`.
  func addPictures(to router: RouterGroup<PageContext>) {
    router.get(":picture") { _, context in
      guard
        let picture = context.coreContext.parameters.get("picture").flatMap({ Juice.Picture($0) }),
        let bytes = pictures[picture]
      else { throw RequestError.notFound }
      return Response(
        status: .ok,
        headers: [.contentType: picture.mediaType, .cacheControl: "public, max-age=3600"],
        body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
  }
}

extension Juice.Picture {
  fileprivate var mediaType: String {
    switch description.split(separator: ".").last {
    case "svg": "image/svg+xml"
    case "png": "image/png"
    default: "image/jpeg"
    }
  }
}
