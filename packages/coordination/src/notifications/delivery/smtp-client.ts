import MailComposer from 'nodemailer/lib/mail-composer';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { MailMessage } from '../messages/mail-message.ts';
import type { SendOutcome } from './send-outcome.ts';
import type { SmtpSettings } from './smtp-settings.ts';

/** An idle connection is closed after this time; servers close them later. */
const idleMsMax = 5000;
const messagesPerConnectionMax = 100;
/**
 * A server that closes the connection (421) for so many different recipients in succession is at fault itself; for
 * fewer, their mailboxes are, and other e-mails don't wait for them.
 */
const closedForMax = 5;

interface Connection {
  readonly smtp: SMTPConnection;
  messages: number;
  isBroken: boolean;
}

interface SmtpError extends Error {
  readonly code?: string;
  readonly command?: string;
  readonly response?: string;
  readonly responseCode?: number;
}

/**
 * Sends e-mails over a few reused connections. Nodemailer's connection is used without its pool, because only the steps
 * of a connection show whether a failed message may have been accepted.
 */
export class SmtpClient {
  readonly #settings: SmtpSettings;
  readonly #idle: { connection: Connection; timer: NodeJS.Timeout }[] = [];
  /** The recipients for whom the server closed the connection since it last accepted a message. */
  readonly #closedFor = new Set<string>();
  #isClosed = false;

  constructor(settings: SmtpSettings) {
    this.#settings = settings;
  }

  /**
   * @param signal ends the connection; the message may already have been sent
   */
  async send(message: MailMessage, signal: AbortSignal): Promise<SendOutcome> {
    const raw = await this.#compose(message);
    let connection: Connection;
    try {
      connection = (await this.#takeIdle(signal)) ?? (await this.#connect(signal));
    } catch (error) {
      return { kind: 'away', reason: reasonOf(error as SmtpError, 'could not be reached'), blame: 'sink' };
    }
    const envelope = { from: this.#settings.from.address, to: [message.to.address] };
    try {
      await step(connection, signal, (done) => connection.smtp.send(envelope, raw, done));
      connection.messages += 1;
      this.#closedFor.clear();
      this.#release(connection);
      return { kind: 'sent' };
    } catch (error) {
      const { responseCode } = error as SmtpError;
      if (responseCode === undefined || responseCode === 421) connection.smtp.close();
      else this.#release(connection);
      return this.#outcomeOf(error as SmtpError, message.to.address);
    }
  }

  #outcomeOf(error: SmtpError, address: string): SendOutcome {
    const { responseCode, command } = error;
    if (responseCode !== 421) return outcomeOf(error);
    const reason = reasonOf(error, 'closed the connection');
    const away: SendOutcome = { kind: 'away', reason, blame: 'sink' };
    // Before the recipient's address was sent, the recipient can't be at fault.
    if (command === 'MAIL FROM') return away;
    if (this.#closedFor.size < closedForMax) this.#closedFor.add(address);
    return this.#closedFor.size < closedForMax ? { kind: 'failed', reason, isUnknown: false } : away;
  }

  close(): void {
    this.#isClosed = true;
    for (const { connection, timer } of this.#idle.splice(0)) {
      clearTimeout(timer);
      connection.smtp.quit();
    }
  }

  #compose({ to, subject, text, html, messageId, headers }: MailMessage): Promise<Buffer> {
    const { from } = this.#settings;
    const composer = new MailComposer({
      from: { name: from.name, address: from.address },
      to: { name: to.name, address: to.address },
      subject,
      text,
      html,
      messageId,
      headers: { ...headers },
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    return composer.compile().build();
  }

  /** A connection that was idle and still responds. */
  async #takeIdle(signal: AbortSignal): Promise<Connection | undefined> {
    for (;;) {
      const found = this.#idle.pop();
      if (found === undefined) return undefined;
      clearTimeout(found.timer);
      const { connection } = found;
      try {
        if (connection.isBroken) continue;
        await step(connection, signal, (done) => connection.smtp.reset(done));
        return connection;
      } catch {
        connection.smtp.close();
      }
    }
  }

  async #connect(signal: AbortSignal): Promise<Connection> {
    const { host, port, tls, authorities, login, timeoutMs } = this.#settings;
    const smtp = new SMTPConnection({
      host,
      port,
      secure: tls === 'implicit',
      requireTLS: tls === 'starttls',
      ignoreTLS: tls === 'none',
      tls: { minVersion: 'TLSv1.2', ...(authorities && { ca: [...authorities] }) },
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      dnsTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      maxResponseSize: 65_536,
      allowInternalNetworkInterfaces: true,
    });
    const connection: Connection = { smtp, messages: 0, isBroken: false };
    // Without a listener, an error of an idle connection would end the process.
    smtp.on('error', () => {
      connection.isBroken = true;
    });
    smtp.on('end', () => {
      connection.isBroken = true;
    });
    try {
      await step(connection, signal, (done) => smtp.connect(done));
      if (login !== undefined) await step(connection, signal, (done) => smtp.login({ ...login }, done));
      return connection;
    } catch (error) {
      smtp.close();
      throw error;
    }
  }

  #release(connection: Connection): void {
    const { smtp, messages, isBroken } = connection;
    if (isBroken) return smtp.close();
    if (this.#isClosed || messages >= messagesPerConnectionMax) return smtp.quit();
    const timer = setTimeout(() => {
      const at = this.#idle.findIndex((one) => one.connection === connection);
      if (at >= 0) this.#idle.splice(at, 1);
      smtp.quit();
    }, idleMsMax);
    timer.unref();
    this.#idle.push({ connection, timer });
  }
}

/** One step of a connection, which fails when the connection breaks or the signal aborts. */
function step(
  { smtp }: Connection,
  signal: AbortSignal,
  begin: (done: (error?: Error | null) => void) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (error?: Error | null) => {
      smtp.off('error', end);
      smtp.off('end', ended);
      signal.removeEventListener('abort', abort);
      if (error) reject(error);
      else resolve();
    };
    const ended = () => end(Object.assign(new Error('closed'), { code: 'ECONNECTION' }));
    const abort = () => {
      end(Object.assign(new Error('late'), { code: 'ETIMEDOUT' }));
      smtp.close();
    };
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    smtp.on('error', end);
    smtp.on('end', ended);
    begin(end);
  });
}

/**
 * The failure of a message on an open connection. The server's text is left out, because it repeats addresses. A
 * refused sender is a fault in the settings, so messages wait until the settings are corrected.
 */
function outcomeOf(error: SmtpError): SendOutcome {
  const { responseCode, command } = error;
  const reason = reasonOf(error, 'closed the connection');
  if (responseCode === undefined) return { kind: 'failed', reason, isUnknown: true };
  if (command === 'MAIL FROM') return { kind: 'away', reason, blame: 'unclear' };
  if (responseCode >= 500) return { kind: 'refused', reason, isOfRecipient: command === 'RCPT TO' };
  return { kind: 'failed', reason, isUnknown: false };
}

function reasonOf({ code, command, response, responseCode }: SmtpError, otherwise: string): string {
  const [, enhanced = ''] = /^\d{3}[ -](\d\.\d{1,3}\.\d{1,3})\b/.exec(response ?? '') ?? [];
  if (responseCode !== undefined)
    return `the mail server answered ${[responseCode, enhanced].filter(Boolean).join(' ')} to ${command ?? 'a command'}`;
  const known = code !== undefined && /^E[A-Z0-9]{1,30}$/.test(code) ? ` (${code})` : '';
  return `the mail server ${otherwise}${known}`;
}
