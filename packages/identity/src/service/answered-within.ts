/** What is answered in time; undefined when it fails or takes longer, and then nobody hears of it any more. */
export async function answeredWithin<T>(ms: number, answer: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((done) => {
    timer = setTimeout(() => done(undefined), ms);
  });
  const inTime = await Promise.race([answer.catch(() => undefined), late]);
  clearTimeout(timer);
  return inTime;
}
