import { StartError } from '../start-error.ts';
import { type Cluster, type ClusterOptions, startCluster } from './cluster.ts';

const restartsMax = 3;
const restartWindowMs = 60_000;

/** A cluster that is restarted after a crash. */
export interface SupervisedCluster {
  /** The running cluster; a different one after a restart. */
  current(): Cluster;
  stop(): Promise<void>;
}

/**
 * Starts the cluster and restarts it after a crash. A restarted one recovers all acknowledged commits.
 * @param onGiveUp called once if it crashes too often or can't be restarted
 */
export async function superviseCluster(
  options: ClusterOptions,
  onGiveUp: (reason: StartError) => void,
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
          `PostgreSQL crashed ${recent.length + 1} times within a minute. See its log: ${cluster.logFile}.`,
        );
      restartsAt.push(performance.now());
      options.say('PostgreSQL exited unexpectedly. Restarting it ...');
      cluster = await startCluster(options);
      if (isStopping) return cluster.stop();
    }
  };
  const watching = watch().catch((error: unknown) => {
    if (!isStopping) onGiveUp(error instanceof StartError ? error : new StartError(String(error)));
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
