/** Awaits a promise for at most `ms`. Returns undefined if it rejects or takes longer; a later result is ignored. */
export async function awaitAtMost<T>(ms: number, answer: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((done) => {
    timer = setTimeout(() => done(undefined), ms);
  });
  const inTime = await Promise.race([answer.catch(() => undefined), late]);
  clearTimeout(timer);
  return inTime;
}
