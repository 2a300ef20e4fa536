import { StartError } from '../start-error.ts';
import { type Cluster, type ClusterOptions, startCluster } from './cluster.ts';

const restartsMax = 3;
const restartWindowMs = 60_000;

/** A cluster that is started again when it ends by itself. */
export interface SupervisedCluster {
  /** The one that runs now. */
  current(): Cluster;
  stop(): Promise<void>;
}

/**
 * Starts the cluster and keeps it running: whatever ended it, the next one recovers what was acknowledged.
 * @param onGivenUp called once, with a sentence, when it ended too often to go on
 */
export async function superviseCluster(
  options: ClusterOptions,
  onGivenUp: (reason: StartError) => void,
): Promise<SupervisedCluster> {
  let cluster = await startCluster(options);
  let isStopping = false;
  const restartsAt: number[] = [];
  const watch = async () => {
    for (;;) {
      await cluster.ended;
      if (isStopping) return;
      const recent = restartsAt.filter((at) => performance.now() - at < restartWindowMs);
      if (recent.length >= restartsMax)
        throw new StartError(
          `PostgreSQL ended ${recent.length + 1} times within a minute; its log is ${cluster.logFile}.`,
        );
      restartsAt.push(performance.now());
      options.say('PostgreSQL ended by itself; starting it again ...');
      cluster = await startCluster(options);
      if (isStopping) return cluster.stop();
    }
  };
  const watching = watch().catch((error: unknown) => {
    if (!isStopping) onGivenUp(error instanceof StartError ? error : new StartError(String(error)));
  });
  return {
    current: () => cluster,
    async stop() {
      isStopping = true;
      await cluster.stop();
      await watching;
    },
  };
}
