import Dispatch
package import Fleet
import Foundation
import JuiceDomain
import KioskMessages
package import Logging
import ServiceLifecycle
package import StateFiles

/// Tells people which troubles of the fleet begin and which are over.
///
/// A message is on the disk before it is sent, and stays there until all receivers have it: a process that
/// is killed in between sends it once more, with the same id, and never forgets it.
package actor Notifier: Service {
  /// A mailbox, or an address for HTTP.
  package struct Receiver: Sendable {
    /// No other receiver has the same.
    package let name: String
    package let send: @Sendable (Notice) async -> Outcome

    package init(_ name: String, send: @escaping @Sendable (Notice) async -> Outcome) {
      (self.name, self.send) = (name, send)
    }
  }

  package enum Outcome: Sendable {
    case delivered
    /// The receiver does not take this message, but may take others.
    case refused(String)
    /// The receiver takes no message now.
    case failed(String)
  }

  private static let file = "troubles.json"
  /// 10,000 troubles and 100 messages take half of it.
  private static let maximumSize = 8 << 20

  private let link: KioskLink
  private let words: NoticeWords
  private let receivers: [Receiver]
  private let rules: TroubleWatch.Rules
  private let folder: StateFolder
  private let logger: Logger
  /// The state is written here: an fsync blocks its thread.
  private let disk = DispatchQueue(label: "troubles")
  private let signals: [(new: AsyncStream<Void>, signal: AsyncStream<Void>.Continuation)]

  private var watch: TroubleWatch
  private var outbox: Outbox
  /// Whether the state is on the disk, or is being written.
  private var isKept = true
  private var writes = 0
  /// What is wrong with the disk or a receiver, by name; it is logged once.
  private var complaints: [String: String] = [:]

  /// - Throws: `StateError`: the state cannot be read or written.
  package init(
    link: KioskLink, words: NoticeWords, receivers: [Receiver], rules: TroubleWatch.Rules,
    folder: StateFolder, logger: Logger
  ) throws(StateError) {
    (self.link, self.words, self.receivers, self.rules) = (link, words, receivers, rules)
    (self.folder, self.logger) = (folder, logger)
    signals = receivers.map { _ in AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }
      .map { (new: $0.stream, signal: $0.continuation) }
    (watch, outbox) = (TroubleWatch(rules), Outbox())
    if let data = try folder.read(Self.file, upTo: Self.maximumSize) {
      if let json = try? JSON.parse(Array(data)) {
        watch = TroubleWatch(rules, told: TroubleWatch.told(in: json))
        outbox = Outbox(json, receivers: receivers.map(\.name))
      } else {
        logger.error("\(folder.path)/\(Self.file) is no JSON: what is wrong now is told once more")
      }
    }
    try folder.write(Self.file, Self.payload(watch, outbox))
  }

  package func run() async {
    await cancelWhenGracefulShutdown { await self.tell() }
  }

  private func tell() async {
    await withDiscardingTaskGroup { group in
      for (receiver, signal) in zip(receivers, signals) {
        group.addTask { await self.deliver(to: receiver, at: signal.new) }
      }
      while (try? await Task.sleep(for: .seconds(1))) != nil { await look() }
    }
  }

  private func look() async {
    let now = link.time
    let lost = outbox.giveUp(at: now)
    if lost > 0 {
      logger.error("\(lost) messages could not be delivered for a day, and are given up")
      isKept = false
    }
    let fleet = link.fleet
    let news = watch.look(at: fleet, isConnected: link.trouble == nil, at: .now, now: now)
    guard !news.isEmpty else { return }
    let notice = words.notice(of: news, in: fleet, at: now)
    logger.notice("to be told: \(notice.subject)")
    if outbox.put(notice, for: receivers.map(\.name)) {
      logger.error("more than \(Outbox.limit) messages wait: the oldest is given up")
    }
    isKept = false
    await keep()
    for signal in signals { signal.signal.yield() }
  }

  private func deliver(to receiver: Receiver, at new: AsyncStream<Void>) async {
    // Messages of an earlier process wait for the end of the first minute, too.
    guard (try? await Task.sleep(for: rules.quiet)) != nil else { return }
    var pause = rules.quiet / 4
    repeat {
      while await !deliverAll(to: receiver) {
        guard (try? await Task.sleep(for: pause)) != nil else { return }
        pause = min(pause * 2, rules.quiet * 10)
      }
      pause = rules.quiet / 4
    } while await new.first { _ in true } != nil
  }

  /// - Returns: whether nothing is left for the receiver.
  private func deliverAll(to receiver: Receiver) async -> Bool {
    var refused: Set<Notice.ID> = []
    while !Task.isCancelled, let notice = outbox.next(for: receiver.name, except: refused) {
      await keep()
      switch await receiver.send(words.atLast(notice, at: link.time)) {
      case .delivered:
        outbox.isDelivered(notice.id, to: receiver.name)
        isKept = false
        await keep()
        if refused.isEmpty { complain(nil, about: receiver.name) }
      case .refused(let problem):
        complain(problem, about: receiver.name)
        refused.insert(notice.id)
      case .failed(let problem):
        if !Task.isCancelled { complain(problem, about: receiver.name) }
        return false
      }
    }
    return refused.isEmpty
  }

  /// Returns when the state of this moment, or a later one, is on the disk, or when writing it has failed.
  private func keep() async {
    guard !isKept || writes > 0 else { return }
    let data = isKept ? nil : Self.payload(watch, outbox)
    isKept = true
    writes += 1
    let error = await withCheckedContinuation { continuation in
      // The queue is serial: all earlier writes have ended by then.
      disk.async { [folder] in
        do throws(StateError) {
          if let data { try folder.write(Self.file, data) }
          continuation.resume(returning: nil as StateError?)
        } catch {
          continuation.resume(returning: error)
        }
      }
    }
    writes -= 1
    if error != nil { isKept = false }
    if data != nil { complain(error?.description, about: "what was told cannot be kept") }
  }

  /// - Parameter problem: `nil`: it works again.
  private func complain(_ problem: String?, about name: String) {
    guard complaints[name] != problem else { return }
    complaints[name] = problem
    if let problem {
      logger.error("\(name): \(problem); trying again")
    } else {
      logger.notice("\(name): works again")
    }
  }

  private static func payload(_ watch: TroubleWatch, _ outbox: Outbox) -> Data {
    Data(
      JSONWriter.object { json in
        watch.write(to: &json)
        outbox.write(to: &json)
      })
  }
}
