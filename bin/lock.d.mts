export type Lock = { release: () => void; holderPid?: undefined } | { release?: undefined; holderPid: number };
export function takeLock(directory: string): Lock;
export function processStamp(pid: number): string | undefined;
