// wine 8 cannot set the keep-alive of a socket before it is connected, as undici does.
require('node:net').Socket.prototype.setKeepAlive = function setKeepAlive() {
  return this;
};
