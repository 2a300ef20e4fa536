// Starts a cluster in the folder given as argument and stays; for tests that kill the process that started it.
import { startCluster } from '../postgres/cluster.ts';

const directory = process.argv[2] as string;
const cluster = await startCluster({ directory, durable: true, say: () => undefined });
console.log(cluster.pid);
