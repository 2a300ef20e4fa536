// Starts a cluster in the folder given as argument and keeps running; for tests that kill the parent of a server.
import { startCluster } from '../postgres/cluster.ts';

const directory = process.argv[2] as string;
const cluster = await startCluster({ directory, durable: true, say: () => undefined });
console.log(cluster.pid);
