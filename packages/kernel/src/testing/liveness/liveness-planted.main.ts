// A service whose endpoints each exceed one limit of the liveness tests.
import { createListener, openPort } from '../../listener/listener.ts';

const spinMs = 400;
const heldBytes = 800 * 1024 * 1024;
const slowMs = 450;

const held: Buffer[] = [];
/** Runs calls one at a time, like requests for the same rows: each waits for all earlier ones. */
let line: Promise<unknown> = Promise.resolve();
let isSlow = false;

const answers: Record<string, () => Promise<number> | number> = {
  '/api/ordinary': () => (isSlow ? inLine(() => 200) : 200),
  '/api/fair': () => 200,
  '/api/spin'() {
    // Measures CPU time: on a busy machine, 400 ms of wall-clock time once contained less than the 250 ms of CPU time
    // that the test allows.
    for (let [tookMs, before] = [0, process.threadCpuUsage()]; tookMs < spinMs; ) {
      const { user, system } = process.threadCpuUsage(before);
      tookMs = (user + system) / 1000;
    }
    return 200;
  },
  '/api/fail': () => 500,
  '/api/hold'() {
    if (held.length === 0) held.push(Buffer.alloc(heldBytes, 1));
    return 200;
  },
  async '/api/lock'() {
    isSlow = true;
    const status = await inLine(() => new Promise<number>((done) => setTimeout(() => done(200), slowMs)));
    isSlow = false;
    return status;
  },
};

function inLine(work: () => Promise<number> | number): Promise<number> {
  const turn = line.then(work);
  line = turn;
  return turn;
}

const server = createListener({
  async handler(req, res) {
    const answer = answers[(req.url ?? '').split('?', 1)[0] as string];
    res.writeHead((await answer?.()) ?? 404).end();
  },
});
await openPort(server, '127.0.0.1', Number(process.env['PLANTED_PORT']));
process.on('SIGTERM', () => process.exit(0));
