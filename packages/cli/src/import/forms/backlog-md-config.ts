import { lstat, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readDocuments, TextFault } from '../../apply/yaml-documents.ts';
import { type LeftOut, namesIn } from '../source.ts';
import { plainWord } from '../words.ts';

/** The part of Backlog.md's configuration that affects tasks. */
export interface BacklogMdConfig {
  /** The status that means done: the last one, normalized by `plainWord`. */
  readonly doneStatus: string | undefined;
  /** The prefix of ids that are written without one, in lower case. */
  readonly prefix: string;
}

const configBytesMax = 256 * 1024;
const standard: BacklogMdConfig = { doneStatus: undefined, prefix: 'task' };

/** Reads `config.yml`. An invalid one is skipped and reported. */
export async function readBacklogMdConfig(root: string, leftOut: LeftOut): Promise<BacklogMdConfig> {
  const places = [
    join(root, 'config.yml'),
    join(root, 'config.yaml'),
    join(dirname(root), 'backlog.config.yml'),
  ];
  for (const path of places) {
    const found = await lstat(path).catch(() => undefined);
    if (found?.isFile() !== true) continue;
    if (found.size <= configBytesMax) {
      const config = configIn(await readFile(path, 'utf8'));
      if (config !== undefined) return config;
    }
    leftOut.add("can't be parsed as YAML; its statuses are ignored", 'config.yml');
    return standard;
  }
  return standard;
}

function configIn(text: string): BacklogMdConfig | undefined {
  try {
    const value = readDocuments(text)[0]?.value ?? {};
    if (typeof value !== 'object' || value === null) return undefined;
    const { statuses, task_prefix: prefix } = value as Record<string, unknown>;
    const last = namesIn(statuses).at(-1);
    const own = namesIn(prefix)[0]?.toLowerCase().replace(/-$/, '');
    return {
      doneStatus: last === undefined || plainWord(last) === '' ? undefined : plainWord(last),
      prefix: own === undefined || own === '' ? standard.prefix : own,
    };
  } catch (error) {
    if (!(error instanceof TextFault)) throw error;
    return undefined;
  }
}
