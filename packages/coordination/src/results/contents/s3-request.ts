import { createHash, createHmac, type Hash } from 'node:crypto';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { SignatureV4 } from '@smithy/signature-v4';
import { ContentStoreFailed } from '../content-store.ts';
import type { Settings } from '../settings.ts';

type S3Settings = Pick<
  Settings,
  | 'CP_S3_ENDPOINT_URL'
  | 'CP_S3_BUCKET'
  | 'CP_S3_REGION'
  | 'CP_S3_ACCESS_KEY_ID'
  | 'CP_S3_SECRET_ACCESS_KEY'
  | 'CP_S3_CONNECT_TIMEOUT_SECONDS'
  | 'CP_S3_READ_TIMEOUT_SECONDS'
>;

/** A request for an object in the bucket, or for the bucket itself. */
export interface S3Call {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** The key of the object; if omitted, the request is for the bucket itself. Letters, digits, `-` and `/` only. */
  readonly key?: string;
  /** The statuses that indicate success. */
  readonly expected: readonly number[];
  readonly body?: { readonly stream: Readable; readonly sizeBytes: number; readonly sha256: string };
}

export interface S3Client {
  /**
   * @returns the response, whose body the caller reads or destroys
   * @throws ContentStoreFailed
   */
  send(call: S3Call): Promise<IncomingMessage>;
  close(): void;
}

/** The maximum number of connections per process to the store. */
const connectionsMax = 64;
/**
 * From the first byte of the request to the last byte of the response's headers; `streamMsMax` limits how long a body
 * may take.
 */
const callMsMax = 600_000;
const emptySha256 = createHash('sha256').digest('hex');

/** SHA-256 with the interface that the signer requires. */
class Sha256 {
  readonly #hash: Pick<Hash, 'digest'> & { update(data: string | Uint8Array): unknown };

  constructor(secret?: SourceData) {
    this.#hash = secret === undefined ? createHash('sha256') : createHmac('sha256', readable(secret));
  }

  update(data: SourceData): void {
    this.#hash.update(readable(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): never {
    throw new Error('a signature is computed only once');
  }
}

type SourceData = string | ArrayBuffer | ArrayBufferView;

function readable(data: SourceData): string | Uint8Array {
  if (typeof data === 'string') return data;
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * Sends signed requests to one bucket, each within its timeouts. Uses path-style addresses, which every store supports.
 */
export function createS3Client(settings: S3Settings): S3Client {
  const endpoint = new URL(settings.CP_S3_ENDPOINT_URL);
  const isSecure = endpoint.protocol === 'https:';
  const agent = new (isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: connectionsMax });
  const signer = new SignatureV4({
    service: 's3',
    region: settings.CP_S3_REGION,
    credentials: {
      accessKeyId: settings.CP_S3_ACCESS_KEY_ID,
      secretAccessKey: settings.CP_S3_SECRET_ACCESS_KEY,
    },
    sha256: Sha256,
    uriEscapePath: false,
  });
  const limits = {
    connectMs: settings.CP_S3_CONNECT_TIMEOUT_SECONDS * 1000,
    silentMs: settings.CP_S3_READ_TIMEOUT_SECONDS * 1000,
  };
  const bucketPath = `${endpoint.pathname.replace(/\/$/, '')}/${settings.CP_S3_BUCKET}`;
  const open = isSecure ? httpsRequest : httpRequest;

  return {
    async send({ method, key, expected, body }) {
      const path = key === undefined ? bucketPath : `${bucketPath}/${key}`;
      const { headers } = await signer.sign({
        method,
        protocol: endpoint.protocol,
        hostname: endpoint.hostname,
        path,
        query: {},
        headers: {
          host: endpoint.host,
          'x-amz-content-sha256': body?.sha256 ?? emptySha256,
          ...(body && {
            'content-length': String(body.sizeBytes),
            'content-type': 'application/octet-stream',
          }),
        },
      });
      const outgoing = open(endpoint, { method, path, headers, agent });
      const answer = await answerTo(outgoing, body?.stream, limits).catch((cause: unknown) => {
        throw new ContentStoreFailed(`${method} could not be sent to the S3 store`, { cause });
      });
      if (expected.includes(answer.statusCode ?? 0)) return answer;
      throw new ContentStoreFailed(`the S3 store responded to ${method} with ${await refusalOf(answer)}`);
    },
    close: () => agent.destroy(),
  };
}

function answerTo(
  outgoing: ReturnType<typeof httpRequest>,
  body: Readable | undefined,
  { connectMs, silentMs }: { connectMs: number; silentMs: number },
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const late = (what: string) => () => outgoing.destroy(new Error(`${what} takes too long`));
    const connecting = setTimeout(late('connecting'), connectMs);
    const whole = setTimeout(late('the request'), callMsMax);
    const settle = () => {
      clearTimeout(connecting);
      clearTimeout(whole);
    };
    outgoing.on('socket', (socket) => {
      if (!socket.connecting) clearTimeout(connecting);
      else socket.once('connect', () => clearTimeout(connecting));
    });
    // Also applies while the response is being read; on a timeout, the response ends with an error.
    outgoing.setTimeout(silentMs, late('the next byte'));
    outgoing.on('response', (answer) => {
      settle();
      resolve(answer);
    });
    outgoing.on('error', (error) => {
      settle();
      body?.destroy();
      reject(error);
    });
    if (body === undefined) outgoing.end();
    else {
      body.on('error', (error) => outgoing.destroy(error));
      body.pipe(outgoing);
    }
  });
}

const refusalBytesMax = 16_384;

/** The status and the code of a rejected request, for the log; other parts of the response may repeat the request. */
async function refusalOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  try {
    for await (const chunk of answer) {
      text += String(chunk);
      if (text.length > refusalBytesMax) break;
    }
  } catch {
    // The status alone is sufficient.
  }
  const code = /<Code>(\w{1,100})<\/Code>/.exec(text)?.[1];
  return code === undefined ? `${answer.statusCode}` : `${answer.statusCode} ${code}`;
}
