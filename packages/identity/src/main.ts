import { createServer } from 'node:http';
import { createIdentity } from './app.ts';
import { readIdentitySettings } from './config.ts';

/** `baton identity serve`: the service alone, configured by its settings (IAM_*). */
async function serve(): Promise<void> {
  const { IAM_HOST: host, IAM_PORT: port } = readIdentitySettings(process.env);
  const identity = await createIdentity({ env: process.env });
  const server = createServer((req, res) => identity.handler(req, res));
  // Longer than the idle time of usual proxies, which would otherwise send into a connection that just closed.
  server.keepAliveTimeout = 75_000;
  await new Promise<void>((done, failed) => {
    server.once('error', failed);
    server.listen(port, host, done);
  });
  process.stdout.write(`identity listens on http://${host}:${port}\n`);

  let isStopping = false;
  const stop = () => {
    if (isStopping) return;
    isStopping = true;
    server.close(() => {
      identity.close().then(() => process.exit(0), stopWith);
    });
    server.closeIdleConnections();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

function stopWith(error: unknown): void {
  const { code, message } = error as NodeJS.ErrnoException;
  process.stderr.write(`${code === 'EADDRINUSE' ? 'The port (IAM_PORT) is taken.' : message}\n`);
  process.exit(1);
}

serve().catch(stopWith);
