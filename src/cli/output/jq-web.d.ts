declare module 'jq-web' {
  const jq: Promise<unknown>;
  export default jq;
}
